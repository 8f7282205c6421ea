#include "compiler/graph/tensor_elements.h"

#include <cstring>

namespace tvmvm::ir {

bool IsNumeric(DType dtype) { return IsFloat(dtype) || IsInteger(dtype) || dtype == DType::kBool; }

tensor::Scalar ReadElement(const TensorData& data, int64_t index) {
  int bits = DTypeBits(data.dtype);
  uint64_t raw = 0;
  if (bits < 8) {
    int per_byte = 8 / bits;
    auto byte = static_cast<uint64_t>(data.bytes[static_cast<size_t>(index / per_byte)]);
    raw = (byte >> (index % per_byte * bits)) & ((uint64_t{1} << bits) - 1);
  } else {
    size_t size = static_cast<size_t>(bits / 8);
    std::memcpy(&raw, data.bytes.data() + static_cast<size_t>(index) * size, size);
  }
  return tensor::DecodeScalar(data.dtype, raw);
}

void WriteElement(DType dtype, std::span<std::byte> bytes, int64_t index, tensor::Scalar value) {
  int bits = DTypeBits(dtype);
  uint64_t raw = tensor::EncodeScalar(dtype, value);
  if (bits < 8) {
    int per_byte = 8 / bits;
    auto& byte = bytes[static_cast<size_t>(index / per_byte)];
    byte |= static_cast<std::byte>((raw & ((uint64_t{1} << bits) - 1)) << (index % per_byte * bits));
    return;
  }
  size_t size = static_cast<size_t>(bits / 8);
  std::memcpy(bytes.data() + static_cast<size_t>(index) * size, &raw, size);
}

tensor::Expr ElementConstant(const TensorData& data, int64_t index) {
  tensor::Scalar value = ReadElement(data, index);
  if (IsFloat(data.dtype)) return tensor::FloatConstant(value.number, data.dtype);
  return tensor::IntConstant(value.integer, data.dtype);
}

}  // namespace tvmvm::ir
