#include "tvm-vm/dtype.h"

#include <iterator>

namespace tvmvm {
namespace {

enum class Family : uint8_t { kNone, kFloat, kSigned, kUnsigned, kBool, kString, kComplex };

struct Row {
  DType dtype;
  std::string_view name;
  uint8_t bits;
  Family family;
  int8_t onnx;  // TensorProto.DataType
};

// One row per element type, in the order of the enumerators.
constexpr Row kRows[] = {
    {DType::kInvalid, "invalid", 0, Family::kNone, 0},
    {DType::kF32, "f32", 32, Family::kFloat, 1},
    {DType::kF64, "f64", 64, Family::kFloat, 11},
    {DType::kF16, "f16", 16, Family::kFloat, 10},
    {DType::kBF16, "bf16", 16, Family::kFloat, 16},
    {DType::kI8, "i8", 8, Family::kSigned, 3},
    {DType::kI16, "i16", 16, Family::kSigned, 5},
    {DType::kI32, "i32", 32, Family::kSigned, 6},
    {DType::kI64, "i64", 64, Family::kSigned, 7},
    {DType::kU8, "u8", 8, Family::kUnsigned, 2},
    {DType::kU16, "u16", 16, Family::kUnsigned, 4},
    {DType::kU32, "u32", 32, Family::kUnsigned, 12},
    {DType::kU64, "u64", 64, Family::kUnsigned, 13},
    {DType::kBool, "bool", 8, Family::kBool, 9},
    {DType::kString, "string", 0, Family::kString, 8},
    {DType::kC64, "c64", 64, Family::kComplex, 14},
    {DType::kC128, "c128", 128, Family::kComplex, 15},
    {DType::kF8E4M3FN, "f8e4m3fn", 8, Family::kFloat, 17},
    {DType::kF8E4M3FNUZ, "f8e4m3fnuz", 8, Family::kFloat, 18},
    {DType::kF8E5M2, "f8e5m2", 8, Family::kFloat, 19},
    {DType::kF8E5M2FNUZ, "f8e5m2fnuz", 8, Family::kFloat, 20},
    {DType::kF8E8M0, "f8e8m0", 8, Family::kFloat, 24},
    {DType::kI4, "i4", 4, Family::kSigned, 22},
    {DType::kU4, "u4", 4, Family::kUnsigned, 21},
    {DType::kF4E2M1, "f4e2m1", 4, Family::kFloat, 23},
    {DType::kI2, "i2", 2, Family::kSigned, 26},
    {DType::kU2, "u2", 2, Family::kUnsigned, 25},
    {DType::kF6E2M3, "f6e2m3", 8, Family::kFloat, 27},
    {DType::kF6E3M2, "f6e3m2", 8, Family::kFloat, 28},
};

constexpr bool RowsAreInOrder() {
  for (int i = 0; i < kDTypeCount; ++i)
    if (static_cast<int>(kRows[i].dtype) != i) return false;
  return true;
}
static_assert(std::size(kRows) == kDTypeCount && RowsAreInOrder());

// A value outside the enumeration reads as kInvalid.
const Row& RowOf(DType dtype) {
  auto index = static_cast<size_t>(dtype);
  return kRows[index < std::size(kRows) ? index : 0];
}

}  // namespace

std::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name && row.dtype != DType::kInvalid) return row.dtype;
  return std::nullopt;
}

int DTypeBits(DType dtype) { return RowOf(dtype).bits; }

int64_t DTypeBytes(DType dtype, int64_t count) {
  int bits = DTypeBits(dtype);
  if (int64_t bytes = 0; bits >= 8)
    return __builtin_mul_overflow(count, int64_t{bits / 8}, &bytes) ? INT64_MAX : bytes;
  if (bits == 0) return 0;
  int64_t per_byte = 8 / bits;
  return count / per_byte + (count % per_byte != 0);
}

bool IsFloat(DType dtype) { return RowOf(dtype).family == Family::kFloat; }
bool IsInteger(DType dtype) { return IsSignedInteger(dtype) || IsUnsignedInteger(dtype); }
bool IsSignedInteger(DType dtype) { return RowOf(dtype).family == Family::kSigned; }
bool IsUnsignedInteger(DType dtype) { return RowOf(dtype).family == Family::kUnsigned; }
bool IsComplex(DType dtype) { return RowOf(dtype).family == Family::kComplex; }
bool IsSubByte(DType dtype) { return DTypeBits(dtype) > 0 && DTypeBits(dtype) < 8; }

bool IsFloat6(DType dtype) { return dtype == DType::kF6E2M3 || dtype == DType::kF6E3M2; }

int64_t PackedFloat6Bytes(int64_t count) { return count / 4 * 3 + (count % 4 * 6 + 7) / 8; }

void UnpackFloat6(std::span<const std::byte> packed, std::span<std::byte> elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    size_t at = i * 6 / 8, shift = i * 6 % 8;
    unsigned bits = std::to_integer<unsigned>(packed[at]);
    if (shift > 2) bits |= std::to_integer<unsigned>(packed[at + 1]) << 8;
    elements[i] = static_cast<std::byte>(bits >> shift & 0x3f);
  }
}

std::optional<DType> DTypeFromOnnx(int32_t onnx_type) {
  for (const Row& row : kRows)
    if (row.onnx == onnx_type && row.dtype != DType::kInvalid) return row.dtype;
  return std::nullopt;
}

int32_t DTypeToOnnx(DType dtype) { return RowOf(dtype).onnx; }

}  // namespace tvmvm
