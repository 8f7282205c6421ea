#include "compiler/onnx/model/onnx_type.h"

#include <utility>

namespace tvmvm::ir {
namespace {

using protozero::pbf_reader;

constexpr int kMaxDepth = 64;  // of types in types

OnnxType ReadType(pbf_reader reader, int depth);

OnnxDim ReadDim(pbf_reader reader) {
  OnnxDim dim;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        dim.value = reader.get_int64();
        break;
      case 2:
        dim.symbol = reader.get_string();
        break;
      default:
        reader.skip();
    }
  }
  return dim;
}

OnnxType ReadTensorType(pbf_reader reader, OnnxType::Kind kind) {
  OnnxType type;
  type.kind = kind;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: {
        int32_t code = reader.get_int32();
        auto dtype = DTypeFromOnnx(code);
        if (!dtype.has_value()) type.unknown_element = code;
        type.dtype = dtype.value_or(DType::kInvalid);
        break;
      }
      case 2: {
        type.ranked = true;
        pbf_reader shape = reader.get_message();
        while (shape.next()) {
          if (shape.tag() == 1) {
            type.dims.push_back(ReadDim(shape.get_message()));
          } else {
            shape.skip();
          }
        }
        break;
      }
      default:
        reader.skip();
    }
  }
  return type;
}

OnnxType ReadElementType(pbf_reader reader, OnnxType::Kind kind, int depth) {
  OnnxType type;
  type.kind = kind;
  while (reader.next()) {
    if (reader.tag() == 1) {
      pbf_reader element = reader.get_message();
      type.elements.push_back(ReadType(element, depth + 1));
    } else {
      reader.skip();
    }
  }
  if (type.elements.size() != 1)
    throw OnnxReadError(Code::kInvalidArgument, "a container type without element type");
  return type;
}

OnnxType ReadMapType(pbf_reader reader, int depth) {
  OnnxType type;
  type.kind = OnnxType::Kind::kMap;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        type.dtype = DTypeFromOnnx(reader.get_int32()).value_or(DType::kInvalid);
        break;
      case 2: {
        pbf_reader values = reader.get_message();
        type.elements.push_back(ReadType(values, depth + 1));
        break;
      }
      default:
        reader.skip();
    }
  }
  if (type.elements.size() != 1 || type.dtype == DType::kInvalid)
    throw OnnxReadError(Code::kInvalidArgument, "a map type without the types of its keys and values");
  return type;
}

OnnxType ReadType(pbf_reader reader, int depth) {
  if (depth > kMaxDepth) throw OnnxReadError(Code::kInvalidArgument, "a type is nested too deeply");
  OnnxType type;
  type.kind = OnnxType::Kind::kOpaque;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        type = ReadTensorType(reader.get_message(), OnnxType::Kind::kTensor);
        break;
      case 4:
        type = ReadElementType(reader.get_message(), OnnxType::Kind::kSequence, depth);
        break;
      case 5:
        type = ReadMapType(reader.get_message(), depth);
        break;
      case 8:
        type = ReadTensorType(reader.get_message(), OnnxType::Kind::kSparseTensor);
        break;
      case 9:
        type = ReadElementType(reader.get_message(), OnnxType::Kind::kOptional, depth);
        break;
      default:
        reader.skip();
    }
  }
  return type;
}

}  // namespace

OnnxType ReadTypeProto(pbf_reader reader) { return ReadType(reader, 0); }

OnnxValueInfo ReadValueInfoProto(pbf_reader reader) {
  OnnxValueInfo info;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        info.name = reader.get_string();
        break;
      case 2:
        info.type = ReadType(reader.get_message(), 0);
        break;
      default:
        reader.skip();
    }
  }
  return info;
}

}  // namespace tvmvm::ir
