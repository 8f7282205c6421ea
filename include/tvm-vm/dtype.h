// Element types: all of ONNX's. The enumerators' values are wire values of the .vmexe format: append only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tvm-vm/export.h"

namespace tvmvm {

enum class DType : uint8_t {
  kInvalid = 0,
  kF32 = 1,
  kF64 = 2,
  kF16 = 3,
  kBF16 = 4,
  kI8 = 5,
  kI16 = 6,
  kI32 = 7,
  kI64 = 8,
  kU8 = 9,
  kU16 = 10,
  kU32 = 11,
  kU64 = 12,
  kBool = 13,  // one byte, 0 or 1
  kString = 14,
  kC64 = 15,
  kC128 = 16,
  kF8E4M3FN = 17,
  kF8E4M3FNUZ = 18,
  kF8E5M2 = 19,
  kF8E5M2FNUZ = 20,
  kF8E8M0 = 21,
  kI4 = 22,
  kU4 = 23,
  kF4E2M1 = 24,  // two elements a byte, the first in the low bits
  kI2 = 25,
  kU2 = 26,  // four elements a byte, the first in the low bits
  kF6E2M3 = 27,
  kF6E3M2 = 28,  // an element a byte, in the low six bits
};
inline constexpr int kDTypeCount = 29;

// "f32", "i64", "bool", "string", "f8e4m3fn", ...
TVMVM_EXPORT std::string_view DTypeName(DType dtype);
TVMVM_EXPORT std::optional<DType> DTypeFromName(std::string_view name);

// Bits of one element in memory; 0 for kString and kInvalid.
TVMVM_EXPORT int DTypeBits(DType dtype);
// Bytes of `count` packed elements: rounded up to whole bytes; INT64_MAX where there are more. `count` >= 0.
TVMVM_EXPORT int64_t DTypeBytes(DType dtype, int64_t count);
// What the address of an element is a multiple of: its size, but no more than 8.
inline int ElementAlignment(DType dtype) { return std::clamp(DTypeBits(dtype) / 8, 1, 8); }

// All floating-point types, those of 4, 6 and 8 bits included; not complex.
TVMVM_EXPORT bool IsFloat(DType dtype);
TVMVM_EXPORT bool IsInteger(DType dtype);  // signed and unsigned integers; not bool
TVMVM_EXPORT bool IsSignedInteger(DType dtype);
TVMVM_EXPORT bool IsUnsignedInteger(DType dtype);
TVMVM_EXPORT bool IsComplex(DType dtype);
TVMVM_EXPORT bool IsSubByte(DType dtype);  // 4 and 2 bit types

// Floats of six bits have a byte each here. ONNX's raw data packs four into three bytes, the first in the low
// bits: `packed` holds PackedFloat6Bytes(elements.size()) bytes.
TVMVM_EXPORT bool IsFloat6(DType dtype);
TVMVM_EXPORT int64_t PackedFloat6Bytes(int64_t count);
TVMVM_EXPORT void UnpackFloat6(std::span<const std::byte> packed, std::span<std::byte> elements);

// ONNX's TensorProto.DataType numbers.
TVMVM_EXPORT std::optional<DType> DTypeFromOnnx(int32_t onnx_type);
TVMVM_EXPORT int32_t DTypeToOnnx(DType dtype);

}  // namespace tvmvm
