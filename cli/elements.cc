#include "cli/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tvmvm::cli {
namespace {

// A small floating-point format: 1 sign bit (but for f8e8m0), `exponent` and `mantissa` bits.
struct FloatFormat {
  int exponent;
  int mantissa;
  int bias;
  bool has_infinity;          // the top exponent holds infinity and NaNs, as in IEEE 754
  bool negative_zero_is_nan;  // the "FNUZ" formats: no -0, no infinity, one NaN
  bool has_nan;
};

FloatFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {5, 10, 15, true, false, true};
    case DType::kBF16:
      return {8, 7, 127, true, false, true};
    case DType::kF8E4M3FN:
      return {4, 3, 7, false, false, true};
    case DType::kF8E4M3FNUZ:
      return {4, 3, 8, false, true, true};
    case DType::kF8E5M2:
      return {5, 2, 15, true, false, true};
    case DType::kF8E5M2FNUZ:
      return {5, 2, 16, false, true, true};
    case DType::kF6E2M3:
      return {2, 3, 1, false, false, false};
    case DType::kF6E3M2:
      return {3, 2, 3, false, false, false};
    default:
      return {2, 1, 1, false, false, false};  // f4e2m1
  }
}

double DecodeFloat(const FloatFormat& format, uint32_t bits) {
  uint32_t mantissa_mask = (1u << format.mantissa) - 1, exponent_mask = (1u << format.exponent) - 1;
  uint32_t mantissa = bits & mantissa_mask, exponent = (bits >> format.mantissa) & exponent_mask;
  bool negative = (bits >> (format.mantissa + format.exponent)) & 1;
  double value;
  if (format.negative_zero_is_nan && negative && exponent == 0 && mantissa == 0) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (format.has_infinity && exponent == exponent_mask) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (!format.has_infinity && !format.negative_zero_is_nan && format.has_nan &&
             exponent == exponent_mask && mantissa == mantissa_mask) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - format.bias - format.mantissa);
  } else {
    value =
        std::ldexp(mantissa + mantissa_mask + 1, static_cast<int>(exponent) - format.bias - format.mantissa);
  }
  return negative ? -value : value;
}

// The finite code nearest to `value`, by search: the magnitudes are in the order of their codes. Infinities
// and NaN are themselves where the format has them.
uint32_t EncodeFloat(const FloatFormat& format, double value) {
  uint32_t sign = std::signbit(value) ? 1u << (format.mantissa + format.exponent) : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value) && format.has_nan)
    return format.negative_zero_is_nan ? 1u << (format.mantissa + format.exponent)
                                       : (1u << (format.mantissa + format.exponent)) - 1;
  if (std::isinf(value) && format.has_infinity)
    return sign | ((1u << format.exponent) - 1) << format.mantissa;
  uint32_t low = 0, high = (1u << (format.mantissa + format.exponent)) - 1;
  while (!std::isfinite(DecodeFloat(format, high))) --high;
  if (magnitude >= DecodeFloat(format, high)) return sign | high;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (DecodeFloat(format, middle) <= magnitude ? low : high) = middle;
  }
  double below = magnitude - DecodeFloat(format, low), above = DecodeFloat(format, high) - magnitude;
  uint32_t code = below < above || (below == above && low % 2 == 0) ? low : high;
  return code == 0 && format.negative_zero_is_nan ? 0 : sign | code;
}

uint32_t ReadBits(const Tensor& tensor, int64_t index) {
  int bits = DTypeBits(tensor.dtype());
  const uint8_t* bytes = static_cast<const uint8_t*>(tensor.data());
  if (bits < 8) {
    int per_byte = 8 / bits;
    return (bytes[index / per_byte] >> (index % per_byte * bits)) & ((1u << bits) - 1);
  }
  if (bits == 8) return bytes[index];
  uint16_t half;
  std::memcpy(&half, bytes + index * 2, 2);
  return half;
}

void WriteBits(Tensor& tensor, int64_t index, uint32_t value) {
  int bits = DTypeBits(tensor.dtype());
  uint8_t* bytes = static_cast<uint8_t*>(tensor.data());
  if (bits < 8) {
    int per_byte = 8 / bits, shift = index % per_byte * bits;
    uint32_t mask = (1u << bits) - 1;
    uint8_t& byte = bytes[index / per_byte];
    byte = static_cast<uint8_t>((byte & ~(mask << shift)) | ((value & mask) << shift));
  } else if (bits == 8) {
    bytes[index] = static_cast<uint8_t>(value);
  } else {
    uint16_t half = static_cast<uint16_t>(value);
    std::memcpy(bytes + index * 2, &half, 2);
  }
}

template <class T>
T ReadAs(const Tensor& tensor, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(tensor.data()) + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void WriteAs(Tensor& tensor, int64_t index, T value) {
  std::memcpy(static_cast<char*>(tensor.data()) + index * sizeof(T), &value, sizeof(T));
}

std::string FormatString(const std::string& text) {
  constexpr size_t kLook = 40;
  std::string shown = "\"";
  for (unsigned char c : std::string_view(text).substr(0, kLook)) {
    if (c == '"' || c == '\\') {
      shown += '\\';
      shown += static_cast<char>(c);
    } else if (c < 0x20 || c == 0x7f) {
      shown += fmt::format("\\x{:02x}", c);
    } else {
      shown += static_cast<char>(c);
    }
  }
  return shown + (text.size() > kLook ? "...\"" : "\"");
}

}  // namespace

double ReadFloat(const Tensor& tensor, int64_t index) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return ReadAs<float>(tensor, index);
    case DType::kF64:
      return ReadAs<double>(tensor, index);
    case DType::kF8E8M0: {
      uint32_t bits = ReadBits(tensor, index);
      return bits == 0xff ? std::numeric_limits<double>::quiet_NaN()
                          : std::ldexp(1.0, static_cast<int>(bits) - 127);
    }
    default:
      return DecodeFloat(FormatOf(tensor.dtype()), ReadBits(tensor, index));
  }
}

std::complex<double> ReadComplex(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::kC64) return ReadAs<std::complex<float>>(tensor, index);
  return ReadAs<std::complex<double>>(tensor, index);
}

int64_t ReadInteger(const Tensor& tensor, int64_t index) {
  switch (tensor.dtype()) {
    case DType::kI64:
    case DType::kU64:
      return ReadAs<int64_t>(tensor, index);
    case DType::kI32:
      return ReadAs<int32_t>(tensor, index);
    case DType::kU32:
      return ReadAs<uint32_t>(tensor, index);
    case DType::kI16:
      return ReadAs<int16_t>(tensor, index);
    case DType::kI8:
      return ReadAs<int8_t>(tensor, index);
    case DType::kBool:
      return ReadAs<uint8_t>(tensor, index) != 0;
    default:
      break;
  }
  int64_t value = ReadBits(tensor, index);  // u16, u8 and the sub-byte types
  int bits = DTypeBits(tensor.dtype());
  if (IsSignedInteger(tensor.dtype()) && (value >> (bits - 1))) value -= int64_t{1} << bits;
  return value;
}

void WriteFloat(Tensor& tensor, int64_t index, double value) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return WriteAs(tensor, index, static_cast<float>(value));
    case DType::kF64:
      return WriteAs(tensor, index, value);
    case DType::kC64:
      return WriteAs(tensor, index, std::complex<float>(static_cast<float>(value)));
    case DType::kC128:
      return WriteAs(tensor, index, std::complex<double>(value));
    case DType::kF8E8M0:
      return WriteBits(tensor, index,
                       std::isnan(value) ? 255 : std::clamp(std::ilogb(value), -127, 127) + 127);
    default:
      return WriteBits(tensor, index, EncodeFloat(FormatOf(tensor.dtype()), value));
  }
}

void WriteInteger(Tensor& tensor, int64_t index, int64_t value) {
  switch (DTypeBits(tensor.dtype())) {
    case 64:
      return WriteAs(tensor, index, value);
    case 32:
      return WriteAs(tensor, index, static_cast<int32_t>(value));
    default:
      return WriteBits(tensor, index, static_cast<uint32_t>(value));
  }
}

Expected<Tensor> FilledTensor(const Tensor& element, const Shape& shape) {
  const DType dtype = element.dtype();
  const auto count = static_cast<size_t>(shape.ElementCount().value_or(0));
  if (dtype == DType::kString)
    return Tensor::FromStrings(shape, std::vector<std::string>(count, element.strings()[0]));
  TVMVM_TRY(Tensor tensor, Tensor::Allocate(dtype, shape));
  const bool is_float = IsFloat(dtype) || IsComplex(dtype);
  const double number = IsComplex(dtype) ? ReadComplex(element, 0).real()
                        : is_float       ? ReadFloat(element, 0)
                                         : 0;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    if (is_float) {
      WriteFloat(tensor, i, number);
    } else {
      WriteInteger(tensor, i, ReadInteger(element, 0));
    }
  }
  return tensor;
}

std::string FormatElement(const Tensor& tensor, int64_t index) {
  DType dtype = tensor.dtype();
  if (dtype == DType::kString) return FormatString(tensor.strings()[index]);
  if (dtype == DType::kBool) return ReadInteger(tensor, index) ? "true" : "false";
  if (dtype == DType::kU64) return fmt::format("{}", static_cast<uint64_t>(ReadInteger(tensor, index)));
  if (IsComplex(dtype)) {
    std::complex<double> value = ReadComplex(tensor, index);
    return fmt::format("({:.6g}{:+.6g}j)", value.real(), value.imag());
  }
  if (IsFloat(dtype)) return fmt::format("{:.6g}", ReadFloat(tensor, index));
  return fmt::format("{}", ReadInteger(tensor, index));
}

}  // namespace tvmvm::cli
