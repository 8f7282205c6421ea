// By which row, and in which version, a node of a model is taken.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/onnx/model/onnx_model.h"
#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

using Opsets = std::map<std::string, int64_t>;  // domain -> version

struct OperatorChoice {
  const OnnxOp* row = nullptr;
  int version = 0;
  std::string problem;               // where there is no row: why
  bool is_malformed = false;         // the model is wrong, not what is supported
  std::vector<std::string> ignored;  // attributes that the operator does not have in any version that fits
  std::vector<std::string> assumptions;  // what the model says wrongly or leaves open, and how it is taken
};

// `opsets`: what the graph or function around the node imports; `model_opsets`: what counts for domains that
// a function leaves out. An attribute that is gone from the operator since an older version makes it that
// version.
OperatorChoice ChooseOperator(const OnnxNode& node, const std::map<std::string, OnnxAttribute>& attributes,
                              const Opsets& opsets, const Opsets& model_opsets);

// "operator ai.onnx.Relu version 13"
std::string OperatorText(const OnnxNode& node, int64_t version);

}  // namespace tvmvm::ir
