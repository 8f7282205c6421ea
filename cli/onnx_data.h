// ONNX test data: one TensorProto, SequenceProto or OptionalProto a file, as in the ONNX backend tests'
// test_data_set_K/input_I.pb.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::cli {

struct NamedTensor {
  std::string name;  // may be empty
  Tensor tensor;
};

// Every element type, from raw_data and from the typed fields. Errors: kInvalidArgument (malformed; what and
// why), kUnsupported (external data).
Expected<NamedTensor> ParseTensorProto(std::span<const std::byte> bytes);

struct NamedValue {
  std::string name;  // may be empty
  Value value;
};

// The message that holds a value of this type: it does not say itself what it is. Errors as above.
Expected<NamedValue> ParseValueProto(std::span<const std::byte> bytes, const TypeSpec& type);
// As ParseValueProto; messages name the path.
Expected<NamedValue> ReadValueProto(const std::string& path, const TypeSpec& type);

}  // namespace tvmvm::cli
