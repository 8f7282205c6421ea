// ONNX test data: one TensorProto a file, as in the ONNX backend tests' test_data_set_K/input_I.pb.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "bytecode/status.h"
#include "vm/tensor.h"

namespace tvmvm::cli {

struct NamedTensor {
  std::string name;  // may be empty
  Tensor tensor;
};

// Every element type, from raw_data and from the typed fields. Errors: kInvalidArgument (malformed; what and
// why), kUnsupported (external data).
Expected<NamedTensor> ParseTensorProto(std::span<const std::byte> bytes);
// As ParseTensorProto; messages name the path.
Expected<NamedTensor> ReadTensorProto(const std::string& path);

}  // namespace tvmvm::cli
