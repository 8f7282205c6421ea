// An ONNX model as plain structs: what the file says, checked for form but not for meaning.
//
// Tensor data is never copied where the file holds it in the layout of memory: TensorData views the mapped
// file, or the caller's bytes, and keeps the mapping alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/onnx/model/mapped_file.h"
#include "compiler/onnx/model/onnx_attribute.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

struct OnnxDim {
  std::optional<int64_t> value;
  std::string symbol;  // dim_param; "" where there is none
};

struct OnnxType {
  enum class Kind : uint8_t { kTensor, kSequence, kOptional, kMap, kSparseTensor, kOpaque };
  Kind kind = Kind::kTensor;
  DType dtype = DType::kInvalid;
  int32_t unknown_element = 0;  // the number of an element type that is not known
  bool ranked = false;          // a shape was given
  std::vector<OnnxDim> dims;
  std::vector<OnnxType> elements;  // sequence, optional: one; map: its values, `dtype` is that of its keys
};

struct OnnxValueInfo {
  std::string name;
  std::optional<OnnxType> type;
};

struct OnnxNode {
  std::string name;
  std::string domain;  // "" is ai.onnx
  std::string op_type;
  std::string overload;
  std::vector<std::string> inputs;  // "" : absent
  std::vector<std::string> outputs;
  std::map<std::string, OnnxAttribute> attributes;
  std::optional<Error> problem;  // why a tensor among the attributes cannot be read
};

struct OnnxInitializer {
  std::string name;
  std::shared_ptr<const TensorData> data;  // null: it cannot be read
  std::optional<Error> problem;            // why
};

struct OnnxGraph {
  std::string name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxInitializer> initializers;  // sparse ones are made dense
  std::vector<OnnxValueInfo> inputs;          // without those that an initializer has the value of
  std::vector<std::string> defaults;          // the names of those
  std::vector<OnnxValueInfo> outputs;
  std::unordered_map<std::string, OnnxType> value_types;  // declared of values inside
};

struct OnnxFunction {
  std::string domain;
  std::string name;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;  // without a default
  std::map<std::string, OnnxAttribute> attribute_defaults;
  std::map<std::string, int64_t> opset_imports;
  std::vector<OnnxNode> nodes;
};

struct OnnxModel {
  int64_t ir_version = 0;
  std::string producer;
  std::map<std::string, int64_t> opset_imports;  // domain -> version
  OnnxGraph graph;
  std::vector<OnnxFunction> functions;
  std::vector<std::string> assumptions;  // where the file breaks ONNX's rules, and how it was read
  std::span<const std::byte> bytes;      // what it was read from
  std::shared_ptr<const void> owner;     // of the bytes; null: the caller
};

// Errors: kNotFound (no such file), kInvalidArgument (malformed: byte position, place and reason). Tensors
// that cannot be read (of an unknown type, outside of the file, ...) are errors where they are used.
// `file`: the mapping of `path`, which the model keeps; external data is looked for beside it.
Expected<OnnxModel> ReadOnnxFile(const std::string& path, const std::shared_ptr<const MappedFile>& file);
// The bytes must outlive everything made from the model. External data is refused: there is no folder to look
// in.
Expected<OnnxModel> ReadOnnxBytes(std::span<const std::byte> bytes);

// A TensorProto by itself, as the files of the ONNX backend tests hold it.
Expected<OnnxInitializer> ReadOnnxTensor(std::span<const std::byte> bytes);

}  // namespace tvmvm::ir
