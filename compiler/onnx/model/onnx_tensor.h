// TensorProto and SparseTensorProto. Private to the reader of ONNX files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "compiler/onnx/model/mapped_file.h"
#include "compiler/onnx/model/onnx_model.h"
#include "serializer/protobuf.h"

namespace tvmvm::ir {

// How the reader leaves its nested functions; never leaves ReadOnnxFile and its like.
class OnnxReadError : public std::runtime_error {
 public:
  OnnxReadError(Code code, const std::string& message) : std::runtime_error(message), code(code) {}
  Code code;
  std::optional<std::string> tensor;  // the name of the one tensor that is concerned
};

// Where tensors' bytes come from.
struct OnnxSource {
  std::shared_ptr<const void> owner;    // of the bytes that are read; null: the caller keeps them
  const ModelFolder* folder = nullptr;  // of external data
  std::map<std::string, std::shared_ptr<const MappedFile>> external;  // by location, each mapped once
  std::map<std::string, std::string> checksums;                       // of those whose tensors give one
};

// All throw OnnxReadError or protozero's exceptions.
OnnxInitializer ReadTensorProto(protozero::pbf_reader reader, OnnxSource& source);
OnnxInitializer ReadSparseTensorProto(protozero::pbf_reader reader, OnnxSource& source);

// Values of a repeated varint or fixed field, packed or not.
void AppendInt64(protozero::pbf_reader& reader, std::vector<int64_t>* values);

}  // namespace tvmvm::ir
