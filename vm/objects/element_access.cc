#include "vm/objects/element_access.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tvmvm {
namespace {

template <class T>
T Read(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void Write(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

int64_t Bits(double value) { return std::bit_cast<int64_t>(value); }

double HalfToDouble(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  double value = 0;
  if (exponent == 31)
    value = fraction != 0 ? NAN : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else
    value = std::ldexp(1024 + fraction, exponent - 25);
  return (half & 0x8000) != 0 ? -value : value;
}

uint16_t DoubleToHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0)
    return sign | 0x7c00;  // half way between the largest half and the next power of two
  // A subnormal half counts units of 2^-24; a normal one units of 2^(exponent - 10).
  if (magnitude < 0x1p-14)
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24)));
  const int exponent = std::ilogb(magnitude);
  const auto units =
      static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));  // 1024 to 2048
  // Rounding up to 2048 carries into the exponent, as it should.
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 15) << 10) + (units - 1024)));
}

// Rounds once: from double straight to 8 bits of significand.
uint16_t DoubleToBFloat(double value) {
  if (std::isnan(value)) return 0x7fc0;
  auto single = static_cast<float>(value);
  auto bits = std::bit_cast<uint32_t>(single);
  // Make the float a truncation with a sticky lowest bit, so that the second rounding sees what the first one
  // dropped.
  if (static_cast<double>(single) != value && !std::isinf(single)) {
    if (std::fabs(static_cast<double>(single)) > std::fabs(value)) --bits;
    bits |= 1;
  }
  bits += 0x7fff + ((bits >> 16) & 1);
  return static_cast<uint16_t>(bits >> 16);
}

}  // namespace

bool HasScalarForm(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kF16:
    case DType::kBF16:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

int64_t LoadElement(DType dtype, const void* at) {
  switch (dtype) {
    case DType::kI64:
    case DType::kU64:
      return Read<int64_t>(at);
    case DType::kI32:
      return Read<int32_t>(at);
    case DType::kBool:
      return Read<uint8_t>(at) != 0;
    case DType::kF32:
      return Bits(Read<float>(at));
    case DType::kF64:
      return Read<int64_t>(at);
    case DType::kF16:
      return Bits(HalfToDouble(Read<uint16_t>(at)));
    case DType::kBF16:
      return Bits(std::bit_cast<float>(static_cast<uint32_t>(Read<uint16_t>(at)) << 16));
    case DType::kI8:
      return Read<int8_t>(at);
    case DType::kU8:
      return Read<uint8_t>(at);
    case DType::kI16:
      return Read<int16_t>(at);
    case DType::kU16:
      return Read<uint16_t>(at);
    case DType::kU32:
      return Read<uint32_t>(at);
    default:
      return 0;
  }
}

void StoreElement(DType dtype, void* at, int64_t value) {
  const auto number = std::bit_cast<double>(value);
  switch (dtype) {
    case DType::kI64:
    case DType::kU64:
    case DType::kF64:
      return Write(at, value);
    case DType::kI32:
    case DType::kU32:
      return Write(at, static_cast<uint32_t>(value));
    case DType::kI16:
    case DType::kU16:
      return Write(at, static_cast<uint16_t>(value));
    case DType::kI8:
    case DType::kU8:
      return Write(at, static_cast<uint8_t>(value));
    case DType::kBool:
      return Write(at, static_cast<uint8_t>(value != 0));
    case DType::kF32:
      return Write(at, static_cast<float>(number));
    case DType::kF16:
      return Write(at, DoubleToHalf(number));
    case DType::kBF16:
      return Write(at, DoubleToBFloat(number));
    default:
      return;
  }
}

}  // namespace tvmvm
