// An attribute of an ONNX node, as the model has it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

struct OnnxGraph;  // an attribute's subgraph, onnx_model.h
struct OnnxType;   // an attribute's type, onnx_model.h

struct OnnxAttribute {
  enum class Kind : uint8_t {
    kFloat,
    kInt,
    kString,
    kTensor,
    kGraph,
    kFloats,
    kInts,
    kStrings,
    kTensors,
    kGraphs,
    kType,
    kOther
  };
  Kind kind = Kind::kOther;
  std::string reference;  // inside a model function: the attribute of the caller's node that it stands for
  double number = 0;
  int64_t integer = 0;
  std::string text;
  std::shared_ptr<const TensorData> tensor;
  std::shared_ptr<const OnnxGraph> graph;
  std::shared_ptr<const OnnxType> type;
  std::vector<double> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  std::vector<std::shared_ptr<const TensorData>> tensors;
  std::vector<std::shared_ptr<const OnnxGraph>> graphs;
};

}  // namespace tvmvm::ir
