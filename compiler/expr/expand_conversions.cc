#include <limits>

#include "compiler/expr/approximate_build.h"

namespace tvmvm::tensor::approximate {
namespace {

constexpr DType kU32 = DType::kU32;

Expr NotEqual(const Expr& a, const Expr& b) { return Binary(ExprOp::kNotEqual, a, b); }
Expr WithBit(const Expr& condition, const Expr& bits, uint64_t value) {
  return Select(condition, Bits(bits.dtype(), value), bits);
}

// A float of 4, 6 or 8 bits as sign, exponent and mantissa fields.
struct Format {
  int mantissa_bits;
  int exponent_bits;
  int bias;
  uint64_t largest;   // code of the largest finite magnitude
  uint64_t infinity;  // code, or 0
  uint64_t nan;       // code, or 0
  bool has_negative_zero;

  int sign_shift() const { return mantissa_bits + exponent_bits; }
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return {3, 4, 7, 0x7e, 0, 0x7f, true};
    case DType::kF8E4M3FNUZ:
      return {3, 4, 8, 0x7f, 0, 0x80, false};
    case DType::kF8E5M2:
      return {2, 5, 15, 0x7b, 0x7c, 0x7e, true};
    case DType::kF8E5M2FNUZ:
      return {2, 5, 16, 0x7f, 0, 0x80, false};
    case DType::kF6E2M3:
      return {3, 2, 1, 0x1f, 0, 0, true};
    case DType::kF6E3M2:
      return {2, 3, 3, 0x1f, 0, 0, true};
    default:
      return {1, 2, 1, 0x7, 0, 0, true};  // kF4E2M1
  }
}

bool IsTiny(DType dtype) { return IsFloat(dtype) && DTypeBits(dtype) <= 8; }

Expr PowerOfTwo(int exponent) { return FloatConstant(__builtin_ldexp(1.0, exponent)); }

Expr CodeOf(const Expr& tiny) {
  DType bits = tiny.dtype() == DType::kF4E2M1 ? DType::kU4 : DType::kU8;
  return Cast(kU32, Bitcast(bits, tiny));
}

Expr FromCode(DType to, const Expr& code) {
  DType bits = to == DType::kF4E2M1 ? DType::kU4 : DType::kU8;
  return Bitcast(to, Cast(bits, code));
}

// The magnitude's bits, moved to where f32 has them, lack a multiple of the exponent; what is denormal is a
// whole number times a power of two. Nothing here is denormal in f32: GPUs may take that for 0.
Expr DecodeToF32(const Expr& tiny) {
  Expr code = CodeOf(tiny), nan = FloatConstant(std::numeric_limits<double>::quiet_NaN());
  if (tiny.dtype() == DType::kF8E8M0) {
    Expr normal = Bitcast(DType::kF32, WithBit(Equal(code, Bits(kU32, 0)), ShiftLeft(code, 23), 0x400000));
    return Select(Equal(code, Bits(kU32, 0xff)), nan, normal);
  }
  Format f = FormatOf(tiny.dtype());
  Expr magnitude = And(code, Bits(kU32, (1u << f.sign_shift()) - 1));
  Expr sign = ShiftLeft(ShiftRight(code, f.sign_shift()), 31);
  Expr moved = ShiftLeft(magnitude, 23 - f.mantissa_bits);
  Expr normal = Bitcast(DType::kF32, moved + Bits(kU32, static_cast<uint64_t>(127 - f.bias) << 23));
  Expr denormal = Cast(DType::kF32, magnitude) * PowerOfTwo(1 - f.bias - f.mantissa_bits);
  Expr value = Select(Less(magnitude, Bits(kU32, 1u << f.mantissa_bits)), denormal, normal);
  if (f.infinity) {
    Expr infinity = FloatConstant(std::numeric_limits<double>::infinity());
    value = Select(LessEqual(Bits(kU32, f.infinity), magnitude), infinity, value);
    value = Select(Less(Bits(kU32, f.infinity), magnitude), nan, value);
  } else if (f.nan) {
    value = Select(Equal(f.has_negative_zero ? magnitude : code, Bits(kU32, f.nan)), nan, value);
  }
  return Bitcast(DType::kF32, Or(Bitcast(kU32, value), sign));
}

// Rounds up to a power of two.
Expr EncodeE8M0(const Expr& x, bool saturate) {
  Expr bits = And(Bitcast(kU32, x), Bits(kU32, 0x7fffffff)), exponent = ShiftRight(bits, 23);
  Expr zero = Bits(kU32, 0);
  Expr rounds_up = NotEqual(And(bits, Bits(kU32, 0x7fffff)), zero);
  rounds_up = Select(Equal(exponent, zero), Less(Bits(kU32, 0x400000), bits), rounds_up);
  Expr code = exponent + Cast(kU32, rounds_up);
  code = WithBit(Less(Bits(kU32, 0xfe), code), code, saturate ? 0xfe : 0xff);
  if (!saturate) code = WithBit(Less(bits, Bits(kU32, 0x400000)), code, 0xff);
  return FromCode(DType::kF8E8M0, WithBit(Less(Bits(kU32, 0x7f800000), bits), code, 0xff));
}

Expr EncodeFromF32(DType to, const Expr& x, bool saturate) {
  if (to == DType::kF8E8M0) return EncodeE8M0(x, saturate);
  Format f = FormatOf(to);
  Expr bits = And(Bitcast(kU32, x), Bits(kU32, 0x7fffffff)), magnitude = Bitcast(DType::kF32, bits);
  // Normal: round to nearest even in place. Denormal: an addition does it, at the right place.
  int spare = 23 - f.mantissa_bits;
  Expr odd = And(ShiftRight(bits, spare), Bits(kU32, 1));
  Expr rounded = ShiftRight(bits + Bits(kU32, (1u << (spare - 1)) - 1) + odd, spare);
  Expr normal = rounded - Bits(kU32, static_cast<uint64_t>(127 - f.bias) << f.mantissa_bits);
  Expr magic = PowerOfTwo(23 + 1 - f.bias - f.mantissa_bits);
  Expr denormal = Bitcast(kU32, magnitude + magic) - Bitcast(kU32, magic);
  Expr code = Select(Less(magnitude, PowerOfTwo(1 - f.bias)), denormal, normal);

  uint64_t beyond = saturate || !f.nan ? f.largest : f.infinity ? f.infinity : f.nan;
  code = WithBit(Less(Bits(kU32, f.largest), code), code, beyond);
  Expr sign = ShiftLeft(ShiftRight(Bitcast(kU32, x), 31), f.sign_shift());
  if (!f.has_negative_zero) sign = WithBit(Equal(code, Bits(kU32, 0)), sign, 0);
  Expr is_nan = Less(Bits(kU32, 0x7f800000), bits);
  if (f.nan) code = WithBit(is_nan, code, f.nan);
  if (!f.nan) sign = WithBit(is_nan, sign, 0);
  return FromCode(to, Or(code, sign));
}

// f64 -> f32 where a lost part leaves the last bit odd, so that rounding once more to a shorter type is
// exact.
Expr RoundToOdd(const Expr& x) {
  Expr nearest = Cast(DType::kF32, x), back = Cast(DType::kF64, nearest), bits = Bitcast(kU32, nearest);
  Expr is_even = Equal(And(bits, Bits(kU32, 1)), Bits(kU32, 0));
  Expr is_inexact = And(NotEqual(back, x), Unary(ExprOp::kNot, Unary(ExprOp::kIsNan, x)));
  Expr toward = Select(Less(Abs(x), Abs(back)), bits - Bits(kU32, 1), bits + Bits(kU32, 1));
  return Bitcast(DType::kF32, Select(And(is_inexact, is_even), toward, bits));
}

// A number as f32 such that rounding it to a type of at most 12 bits of mantissa gives what rounding the
// number gives.
Expr AsF32ForRounding(const Expr& x) {
  DType from = x.dtype();
  bool fits = from == DType::kBool || DTypeBits(from) <= 16 || from == DType::kF32;
  if (fits) return Cast(DType::kF32, x);
  return RoundToOdd(from == DType::kF64 ? x : Cast(DType::kF64, x));
}

}  // namespace

Expr ExpandCast(const Expr& cast) {
  const Expr& x = cast->operands[0];
  DType from = x.dtype(), to = cast.dtype();
  if (IsTiny(from)) {
    Expr decoded = DecodeToF32(x);
    return to == DType::kF32 ? decoded : ExpandCast(Cast(to, decoded, cast->saturate));
  }
  if (IsTiny(to)) return EncodeFromF32(to, AsF32ForRounding(x), cast->saturate);
  bool is_short = to == DType::kF16 || to == DType::kBF16;
  bool is_long = from == DType::kF64 || (!IsFloat(from) && DTypeBits(from) > 16);
  return is_short && is_long ? Cast(to, AsF32ForRounding(x)) : cast;
}

// By squaring, over all bits of the exponent. A negative exponent leaves 1, -1 and nothing else.
Expr PowInteger(const Expr& x, const Expr& y) {
  DType dtype = x.dtype();
  Expr one = IntConstant(1, dtype), zero = IntConstant(0, dtype), result = one, factor = x;
  int bits = DTypeBits(dtype) - (IsSignedInteger(dtype) ? 1 : 0);
  for (int i = 0; i < bits; ++i) {
    Expr has_bit = NotEqual(And(y, IntConstant(int64_t{1} << i, dtype)), zero);
    result = Select(has_bit, result * factor, result);
    factor = factor * factor;
  }
  if (!IsSignedInteger(dtype)) return result;
  Expr minus_one = IntConstant(-1, dtype);
  Expr is_odd = NotEqual(And(y, one), zero);
  Expr inverse =
      Select(Equal(x, one), one, Select(Equal(x, minus_one), Select(is_odd, minus_one, one), zero));
  return Select(Less(y, zero), inverse, result);
}

Expr FloatRemainder(const Expr& x, const Expr& y) {
  if (!IsDouble(x)) {
    return Cast(x.dtype(), FloatRemainder(Cast(DType::kF64, x), Cast(DType::kF64, y)));
  }
  Expr a = Abs(x), b = Abs(y), zero = Number(x, 0.0),
       infinity = Number(x, std::numeric_limits<double>::infinity());
  Expr quotient = Unary(ExprOp::kTruncate, a / b);
  Expr rest = Fma(Negate(quotient), b, a);
  rest = Select(Less(rest, zero), rest + b, rest);
  rest = Select(LessEqual(b, rest), rest - b, rest);
  rest = Select(And(Equal(b, infinity), Less(a, infinity)), a, rest);
  return WithSignOf(Abs(rest), x);
}

Expr FloatFloorMod(const Expr& x, const Expr& y) {
  Expr rest = FloatRemainder(x, y), zero = Number(x, 0.0);
  Expr differs = NotEqual(Less(rest, zero), Less(y, zero));
  return Select(And(NotEqual(rest, zero), differs), rest + y, rest);
}

}  // namespace tvmvm::tensor::approximate
