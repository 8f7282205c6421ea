#include "compiler/expr/scalar_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tvmvm::tensor {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Binary interchange-like formats below 32 bits.
struct SmallFloat {
  int mantissa_bits;
  int exponent_bits;
  int bias;
  double largest;
  bool has_infinity;
  bool has_nan;
  bool nan_is_negative_zero;  // the *FNUZ formats
};

SmallFloat SmallFloatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {10, 5, 15, 65504.0, true, true, false};
    case DType::kBF16:
      return {7, 8, 127, 0x1.fep127, true, true, false};
    case DType::kF8E4M3FN:
      return {3, 4, 7, 448.0, false, true, false};
    case DType::kF8E4M3FNUZ:
      return {3, 4, 8, 240.0, false, true, true};
    case DType::kF8E5M2:
      return {2, 5, 15, 57344.0, true, true, false};
    case DType::kF8E5M2FNUZ:
      return {2, 5, 16, 57344.0, false, true, true};
    case DType::kF6E2M3:
      return {3, 2, 1, 7.5, false, false, false};
    case DType::kF6E3M2:
      return {2, 3, 3, 28.0, false, false, false};
    default:
      return {1, 2, 1, 6.0, false, false, false};  // kF4E2M1
  }
}

// A power of two, rounded up; 8 bits of exponent and nothing else. Zero and what is below give the least
// value.
double RoundE8M0(double value, bool saturate) {
  if (std::isnan(value)) return kNan;
  if (std::isinf(value)) return saturate ? 0x1p127 : kNan;
  int exponent = 0;
  double mantissa = std::frexp(std::fabs(value), &exponent);  // [0.5, 1)
  if (mantissa == 0 || exponent - 1 < -127) return saturate ? 0x1p-127 : kNan;
  int power = mantissa > 0.5 ? exponent : exponent - 1;
  if (power > 127) return saturate ? 0x1p127 : kNan;
  return std::ldexp(1.0, power);
}

bool ComputesInF32(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

double FloorOfQuotient(double a, double b) { return std::floor(a / b); }

double EvaluateFloatFunction(ExprOp op, double x) {
  switch (op) {
    case ExprOp::kExp:
      return std::exp(x);
    case ExprOp::kExp2:
      return std::exp2(x);
    case ExprOp::kLog:
      return std::log(x);
    case ExprOp::kLog1p:
      return std::log1p(x);
    case ExprOp::kExpm1:
      return std::expm1(x);
    case ExprOp::kReciprocalSqrt:
      return 1 / std::sqrt(x);
    case ExprOp::kSin:
      return std::sin(x);
    case ExprOp::kCos:
      return std::cos(x);
    case ExprOp::kTan:
      return std::tan(x);
    case ExprOp::kAsin:
      return std::asin(x);
    case ExprOp::kAcos:
      return std::acos(x);
    case ExprOp::kAtan:
      return std::atan(x);
    case ExprOp::kSinh:
      return std::sinh(x);
    case ExprOp::kCosh:
      return std::cosh(x);
    case ExprOp::kTanh:
      return std::tanh(x);
    case ExprOp::kAsinh:
      return std::asinh(x);
    case ExprOp::kAcosh:
      return std::acosh(x);
    case ExprOp::kAtanh:
      return std::atanh(x);
    case ExprOp::kErf:
      return std::erf(x);
    case ExprOp::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ExprOp::kNegate:
      return -x;
    case ExprOp::kAbs:
      return std::fabs(x);
    case ExprOp::kSqrt:
      return std::sqrt(x);
    case ExprOp::kFloor:
      return std::floor(x);
    case ExprOp::kCeil:
      return std::ceil(x);
    case ExprOp::kRound:
      return std::nearbyint(x);
    case ExprOp::kTruncate:
      return std::trunc(x);
    default:
      return x;
  }
}

// Arithmetic in f32 where the type computes in f32; the caller rounds to the type.
double EvaluateFloatBinary(ExprOp op, DType dtype, double a, double b) {
  auto once = [&](double exact) { return ComputesInF32(dtype) ? static_cast<float>(exact) : exact; };
  switch (op) {
    case ExprOp::kAdd:
      return once(a + b);
    case ExprOp::kSub:
      return once(a - b);
    case ExprOp::kMul:
      return once(a * b);
    case ExprOp::kDiv:
      return once(a / b);
    case ExprOp::kFloorDiv:
      return ComputesInF32(dtype) ? std::floor(static_cast<float>(a / b)) : FloorOfQuotient(a, b);
    case ExprOp::kRemainder:
      return std::fmod(a, b);
    case ExprOp::kFloorMod: {
      double remainder = std::fmod(a, b);
      return remainder != 0 && (remainder < 0) != (b < 0) ? once(remainder + b) : remainder;
    }
    case ExprOp::kMin:
      return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
    case ExprOp::kMax:
      return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
    case ExprOp::kPow:
      return std::pow(a, b);
    case ExprOp::kAtan2:
      return std::atan2(a, b);
    default:
      return kNan;
  }
}

uint64_t AsUnsigned(DType dtype, int64_t value) {
  int bits = dtype == DType::kBool ? 1 : DTypeBits(dtype);
  return bits >= 64 ? static_cast<uint64_t>(value)
                    : static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
}

struct Quotient {
  int64_t quotient = 0;
  int64_t remainder = 0;
};

// Truncating division of signed numbers; x / 0 gives 0 and INT64_MIN / -1 wraps.
Quotient DivideSigned(int64_t a, int64_t b) {
  if (b == 0) return {};
  if (b == -1) return {static_cast<int64_t>(-static_cast<uint64_t>(a)), 0};
  return {a / b, a % b};
}

int64_t PowInteger(DType dtype, int64_t base, int64_t exponent) {
  if (IsSignedInteger(dtype) && exponent < 0) {  // truncates toward zero
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 ? -1 : 1;
    return 0;
  }
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest; rest >>= 1) {
    if (rest & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<int64_t>(result);
}

int64_t DivideInteger(ExprOp op, DType dtype, int64_t a, int64_t b) {
  if (!IsSignedInteger(dtype)) {
    uint64_t x = AsUnsigned(dtype, a), y = AsUnsigned(dtype, b);
    if (y == 0) return 0;
    return static_cast<int64_t>(op == ExprOp::kDiv || op == ExprOp::kFloorDiv ? x / y : x % y);
  }
  Quotient q = DivideSigned(a, b);
  bool adjust = q.remainder != 0 && (q.remainder < 0) != (b < 0);
  switch (op) {
    case ExprOp::kDiv:
      return q.quotient;
    case ExprOp::kRemainder:
      return q.remainder;
    case ExprOp::kFloorDiv:
      return q.quotient - (adjust ? 1 : 0);
    default:
      return adjust ? q.remainder + b : q.remainder;
  }
}

int64_t EvaluateIntegerBinary(ExprOp op, DType dtype, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  int bits = dtype == DType::kBool ? 1 : DTypeBits(dtype);
  bool is_signed = IsSignedInteger(dtype);
  bool less = is_signed ? a < b : AsUnsigned(dtype, a) < AsUnsigned(dtype, b);
  switch (op) {
    case ExprOp::kAdd:
      return static_cast<int64_t>(ua + ub);
    case ExprOp::kSub:
      return static_cast<int64_t>(ua - ub);
    case ExprOp::kMul:
      return static_cast<int64_t>(ua * ub);
    case ExprOp::kDiv:
    case ExprOp::kRemainder:
    case ExprOp::kFloorDiv:
    case ExprOp::kFloorMod:
      return DivideInteger(op, dtype, a, b);
    case ExprOp::kMin:
      return less ? a : b;
    case ExprOp::kMax:
      return less ? b : a;
    case ExprOp::kPow:
      return PowInteger(dtype, a, b);
    case ExprOp::kAnd:
      return a & b;
    case ExprOp::kOr:
      return a | b;
    case ExprOp::kXor:
      return a ^ b;
    case ExprOp::kShiftLeft:
      return ub >= static_cast<uint64_t>(bits) ? 0 : static_cast<int64_t>(ua << ub);
    case ExprOp::kShiftRight:
      if (ub >= static_cast<uint64_t>(bits)) return is_signed && a < 0 ? -1 : 0;
      return is_signed ? a >> ub : static_cast<int64_t>(AsUnsigned(dtype, a) >> ub);
    default:
      return 0;
  }
}

bool EvaluateComparison(ExprOp op, DType dtype, Scalar a, Scalar b) {
  if (IsFloat(dtype)) {
    switch (op) {
      case ExprOp::kEqual:
        return a.number == b.number;
      case ExprOp::kNotEqual:
        return a.number != b.number;
      case ExprOp::kLess:
        return a.number < b.number;
      default:
        return a.number <= b.number;
    }
  }
  bool is_signed = IsSignedInteger(dtype);
  uint64_t ua = AsUnsigned(dtype, a.integer), ub = AsUnsigned(dtype, b.integer);
  switch (op) {
    case ExprOp::kEqual:
      return ua == ub;
    case ExprOp::kNotEqual:
      return ua != ub;
    case ExprOp::kLess:
      return is_signed ? a.integer < b.integer : ua < ub;
    default:
      return is_signed ? a.integer <= b.integer : ua <= ub;
  }
}

bool IsComparison(ExprOp op) {
  return op == ExprOp::kEqual || op == ExprOp::kNotEqual || op == ExprOp::kLess || op == ExprOp::kLessEqual;
}

int64_t SaturateToInteger(DType to, double value) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  int bits = DTypeBits(to);
  if (IsSignedInteger(to)) {
    double limit = std::ldexp(1.0, bits - 1);
    if (value >= limit) return bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
    if (value < -limit) return bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
    return static_cast<int64_t>(value);
  }
  if (value <= 0) return 0;
  if (value >= std::ldexp(1.0, bits)) return bits == 64 ? -1 : (int64_t{1} << bits) - 1;
  return static_cast<int64_t>(static_cast<uint64_t>(value));
}

uint64_t EncodeSmallFloat(DType dtype, double value) {
  SmallFloat format = SmallFloatOf(dtype);
  int m = format.mantissa_bits;
  uint64_t sign_bit = uint64_t{1} << (m + format.exponent_bits);
  uint64_t sign = std::signbit(value) ? sign_bit : 0;
  uint64_t top_exponent = (uint64_t{1} << format.exponent_bits) - 1;
  if (std::isnan(value)) {
    if (format.nan_is_negative_zero) return sign_bit;
    if (!format.has_nan) return 0;
    return (top_exponent << m) | (format.has_infinity ? uint64_t{1} << (m - 1) : (uint64_t{1} << m) - 1);
  }
  if (std::isinf(value)) return sign | (top_exponent << m);
  double magnitude = std::fabs(value);
  if (magnitude == 0) return format.nan_is_negative_zero ? 0 : sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  auto scaled =
      static_cast<uint64_t>(std::ldexp(magnitude, m - exponent));  // exact: the value is of the format
  if (scaled < (uint64_t{1} << m)) return sign | scaled;           // denormal
  return sign | (static_cast<uint64_t>(exponent + format.bias) << m) | (scaled - (uint64_t{1} << m));
}

double DecodeSmallFloat(DType dtype, uint64_t bits) {
  SmallFloat format = SmallFloatOf(dtype);
  int m = format.mantissa_bits;
  uint64_t mantissa = bits & ((uint64_t{1} << m) - 1);
  uint64_t top_exponent = (uint64_t{1} << format.exponent_bits) - 1;
  uint64_t exponent = (bits >> m) & top_exponent;
  bool negative = (bits >> (m + format.exponent_bits)) & 1;
  if (format.nan_is_negative_zero && negative && exponent == 0 && mantissa == 0) return kNan;
  if (exponent == top_exponent && format.has_infinity)
    return mantissa ? kNan : negative ? -kInfinity : kInfinity;
  if (exponent == top_exponent && format.has_nan && !format.nan_is_negative_zero &&
      mantissa + 1 == uint64_t{1} << m)
    return kNan;
  double magnitude = exponent == 0 ? std::ldexp(static_cast<double>(mantissa), 1 - format.bias - m)
                                   : std::ldexp(static_cast<double>(mantissa + (uint64_t{1} << m)),
                                                static_cast<int>(exponent) - format.bias - m);
  return negative ? -magnitude : magnitude;
}

}  // namespace

int64_t WrapInteger(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value != 0;
  int bits = DTypeBits(dtype);
  if (bits >= 64 || bits == 0) return value;
  int shift = 64 - bits;
  auto high = static_cast<uint64_t>(value) << shift;
  return IsSignedInteger(dtype) ? static_cast<int64_t>(high) >> shift : static_cast<int64_t>(high >> shift);
}

double RoundFloat(DType dtype, double value, bool saturate) {
  if (dtype == DType::kF64) return value;
  if (dtype == DType::kF32) return static_cast<float>(value);
  if (dtype == DType::kF8E8M0) return RoundE8M0(value, saturate);
  SmallFloat format = SmallFloatOf(dtype);
  bool is_f8 = DTypeBits(dtype) == 8;
  if (std::isnan(value)) return format.has_nan ? value : format.largest;
  double result = value;
  if (value != 0 && !std::isinf(value)) {
    int exponent = std::max(std::ilogb(value), 1 - format.bias);
    int quantum = exponent - format.mantissa_bits;
    result = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  }
  if (result == 0 && format.nan_is_negative_zero) return 0;
  if (std::fabs(result) <= format.largest) return result;
  if (!format.has_nan || (is_f8 && saturate)) return std::copysign(format.largest, value);
  return format.has_infinity ? std::copysign(kInfinity, value) : kNan;
}

Scalar ConvertScalar(DType from, DType to, Scalar value, bool saturate) {
  if (IsFloat(from)) {
    if (IsFloat(to)) return {.number = RoundFloat(to, value.number, saturate)};
    if (to == DType::kBool) return {.integer = value.number != 0};
    return {.integer = SaturateToInteger(to, value.number)};
  }
  if (!IsFloat(to)) return {.integer = WrapInteger(to, value.integer)};
  bool is_u64 = from == DType::kU64;
  if (to == DType::kF32)
    return {.number = is_u64 ? static_cast<float>(static_cast<uint64_t>(value.integer))
                             : static_cast<float>(value.integer)};
  double exact =
      is_u64 ? static_cast<double>(static_cast<uint64_t>(value.integer)) : static_cast<double>(value.integer);
  return {.number = RoundFloat(to, exact, saturate)};
}

uint64_t EncodeScalar(DType dtype, Scalar value) {
  if (!IsFloat(dtype)) return AsUnsigned(dtype, value.integer);
  switch (dtype) {
    case DType::kF64:
      return std::bit_cast<uint64_t>(value.number);
    case DType::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(value.number));
    case DType::kF8E8M0:
      return std::isnan(value.number) ? 0xff : static_cast<uint64_t>(std::ilogb(value.number) + 127);
    default:
      return EncodeSmallFloat(dtype, value.number);
  }
}

Scalar DecodeScalar(DType dtype, uint64_t bits) {
  if (!IsFloat(dtype)) return {.integer = WrapInteger(dtype, static_cast<int64_t>(bits))};
  switch (dtype) {
    case DType::kF64:
      return {.number = std::bit_cast<double>(bits)};
    case DType::kF32:
      return {.number = std::bit_cast<float>(static_cast<uint32_t>(bits))};
    case DType::kF8E8M0:
      return {.number = (bits & 0xff) == 0xff ? kNan : std::ldexp(1.0, static_cast<int>(bits & 0xff) - 127)};
    default:
      return {.number = DecodeSmallFloat(dtype, bits)};
  }
}

Scalar EvaluateUnary(ExprOp op, DType dtype, Scalar a) {
  if (IsFloat(dtype)) {
    if (op == ExprOp::kIsNan) return {.integer = std::isnan(a.number)};
    if (op == ExprOp::kIsInf) return {.integer = std::isinf(a.number)};
    double result = EvaluateFloatFunction(op, a.number);
    if (ComputesInF32(dtype)) result = static_cast<float>(result);
    return {.number = RoundFloat(dtype, result)};
  }
  switch (op) {
    case ExprOp::kNegate:
      return {.integer = WrapInteger(dtype, static_cast<int64_t>(-static_cast<uint64_t>(a.integer)))};
    case ExprOp::kAbs:
      if (!IsSignedInteger(dtype) || a.integer >= 0) return a;
      return {.integer = WrapInteger(dtype, static_cast<int64_t>(-static_cast<uint64_t>(a.integer)))};
    case ExprOp::kNot:
      return {.integer = dtype == DType::kBool ? !a.integer : WrapInteger(dtype, ~a.integer)};
    case ExprOp::kPopCount:
      return {.integer = std::popcount(AsUnsigned(dtype, a.integer))};
    case ExprOp::kIsNan:
    case ExprOp::kIsInf:
      return {.integer = 0};
    default:
      return a;  // rounding an integer
  }
}

Scalar EvaluateBinary(ExprOp op, DType dtype, Scalar a, Scalar b) {
  if (IsComparison(op)) return {.integer = EvaluateComparison(op, dtype, a, b)};
  if (IsFloat(dtype))
    return {.number = RoundFloat(dtype, EvaluateFloatBinary(op, dtype, a.number, b.number))};
  return {.integer = WrapInteger(dtype, EvaluateIntegerBinary(op, dtype, a.integer, b.integer))};
}

Scalar EvaluateFma(DType dtype, Scalar a, Scalar b, Scalar c) {
  if (!IsFloat(dtype)) {
    Scalar product = EvaluateBinary(ExprOp::kMul, dtype, a, b);
    return EvaluateBinary(ExprOp::kAdd, dtype, product, c);
  }
  if (dtype == DType::kF64) return {.number = std::fma(a.number, b.number, c.number)};
  float result =
      std::fma(static_cast<float>(a.number), static_cast<float>(b.number), static_cast<float>(c.number));
  return {.number = RoundFloat(dtype, result)};
}

Scalar EvaluateDotBytes(Scalar a, Scalar b, Scalar c) {
  int64_t sum = c.integer;
  for (int byte = 0; byte < 4; ++byte)
    sum += static_cast<uint8_t>(a.integer >> (8 * byte)) * static_cast<int8_t>(b.integer >> (8 * byte));
  return {.integer = WrapInteger(DType::kI32, sum)};
}

Scalar EvaluateScale(DType dtype, Scalar a, Scalar b) {
  if (!std::isfinite(b.number)) return {.number = a.number * std::exp2(b.number)};  // 0, infinity and NaN
  return {.number =
              RoundFloat(dtype, std::ldexp(a.number, static_cast<int>(std::clamp(b.number, -4e3, 4e3))))};
}

bool IsApproximated(ExprOp op) {
  switch (op) {
    case ExprOp::kPow:
    case ExprOp::kAtan2:
    case ExprOp::kExp:
    case ExprOp::kExp2:
    case ExprOp::kLog:
    case ExprOp::kLog1p:
    case ExprOp::kExpm1:
    case ExprOp::kSin:
    case ExprOp::kCos:
    case ExprOp::kTan:
    case ExprOp::kAsin:
    case ExprOp::kAcos:
    case ExprOp::kAtan:
    case ExprOp::kSinh:
    case ExprOp::kCosh:
    case ExprOp::kTanh:
    case ExprOp::kAsinh:
    case ExprOp::kAcosh:
    case ExprOp::kAtanh:
    case ExprOp::kErf:
    case ExprOp::kSigmoid:
      return true;
    default:
      return false;
  }
}

}  // namespace tvmvm::tensor
