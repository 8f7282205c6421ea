#include "compiler/expr/approximate_logarithm.h"

#include <limits>

#include "compiler/expr/approximate_build.h"

namespace tvmvm::tensor::approximate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// x = (1 + f) 2^e, 1 + f in [sqrt 1/2, sqrt 2). For x > 0 and finite; denormals are scaled first.
struct Split {
  Expr f;
  Expr e;
};

Split SplitF32(const Expr& x) {
  Expr is_denormal = Less(x, Number(x, 0x1p-126));
  Expr scaled = Select(is_denormal, x * Number(x, 0x1p23), x);
  Expr bits = Bitcast(DType::kI32, scaled) - Bits(DType::kI32, 0x3f3504f3);
  Expr mantissa = And(bits, Bits(DType::kI32, 0x7fffff)) + Bits(DType::kI32, 0x3f3504f3);
  Expr exponent = Cast(DType::kF32, ShiftRight(bits, 23));
  exponent = exponent + Select(is_denormal, Number(x, -23.0), Number(x, 0.0));
  return {Bitcast(DType::kF32, mantissa) - Number(x, 1.0), exponent};
}

// The exponent becomes a float by placing it in the mantissa of 2^52: AVX2 has no conversion of 64-bit
// integers.
Split SplitF64(const Expr& x) {
  Expr is_denormal = Less(x, Number(x, 0x1p-1022));
  Expr scaled = Select(is_denormal, x * Number(x, 0x1p54), x);
  DType u64 = DType::kU64;
  Expr root = Bits(u64, 0x3fe6a09e667f3bcd);
  Expr bits = Bitcast(u64, scaled) - root;
  Expr mantissa = And(bits, Bits(u64, 0xfffffffffffff)) + root;
  Expr biased = ShiftRight(bits + Bits(u64, uint64_t{1023} << 52), 52);
  Expr exponent = Bitcast(DType::kF64, Or(biased, Bits(u64, 0x4330000000000000)));
  exponent = exponent - Select(is_denormal, Number(x, 0x1p52 + 1023 + 54), Number(x, 0x1p52 + 1023));
  return {Bitcast(DType::kF64, mantissa) - Number(x, 1.0), exponent};
}

Split SplitNumber(const Expr& x) { return IsDouble(x) ? SplitF64(x) : SplitF32(x); }

// log(1 + f) = 2s + s z tail(z), s = f / (2 + f), z = s^2
Expr AtanhTail(const Expr& z) {
  return Polynomial(z, {0.6666666666666666, 0.4000000000000088, 0.2857142857080323, 0.2222222239180047,
                        0.18181795630884753, 0.15386240205813478, 0.13268759668560612, 0.13086767009948175});
}

Expr LogFinite(const Expr& x) {
  Split split = SplitNumber(x);
  const Expr &f = split.f, &e = split.e;
  if (!IsDouble(x)) {
    Expr tail = Polynomial(f, {0.333333313, -0.24999997, 0.200007156, -0.166678026, 0.142490581, -0.124256872,
                               0.116854198, -0.114797339, 0.0697161108});
    Expr square = f * f;
    Expr rest = Fma(square * f, tail, e * Number(x, -0x1.05c610ca86c39p-29));
    rest = Fma(Number(x, -0.5), square, rest);
    return Fma(e, Number(x, 0x1.62e43p-1), f + rest);
  }
  Expr s = f / (f + Number(x, 2.0)), z = s * s;
  Expr half_square = Number(x, 0.5) * f * f;
  Expr correction = Fma(s, Fma(z, AtanhTail(z), half_square), e * Number(x, 0x1.a39ef35793c76p-33));
  return Fma(e, Number(x, 0x1.62e42feep-1), f - (half_square - correction));
}

// 0, negative numbers, infinity and NaN. `result` is what the finite formula gives.
Expr WithLogSpecials(const Expr& x, const Expr& result) {
  Expr infinity = Number(x, kInfinity), zero = Number(x, 0.0);
  Expr top = Select(Less(x, infinity), result, x);  // infinity and NaN
  Expr low = Select(Equal(x, zero), Number(x, -kInfinity), Number(x, kNan));
  return Select(LessEqual(x, zero), low, top);
}

// log x as the sum of two numbers, for x > 0: about 2^-65 relative. f64 only.
struct LongLog {
  Expr high;
  Expr low;
};

LongLog LogLong(const Expr& x) {
  Split split = SplitF64(x);
  const Expr &f = split.f, &e = split.e;
  Expr two = Number(x, 2.0);
  Expr u = f + two, u_low = f - (u - two);
  Expr s = f / u;
  Expr s_low = Fma(Negate(s), u_low, Fma(Negate(s), u, f)) / u;
  Expr z = s * s;
  Expr low = Fma(s * z, AtanhTail(z), s_low + s_low);
  low = Fma(e, Number(x, 0x1.a39ef35793c76p-33), low);
  Expr a = e * Number(x, 0x1.62e42feep-1), b = s + s;  // a is exact
  Expr sum = a + b, part = sum - a;
  Expr error = (a - (sum - part)) + (b - part);
  low = low + error;
  Expr high = sum + low;
  return {high, low - (high - sum)};
}

}  // namespace

Expr Log(const Expr& x) { return WithLogSpecials(x, LogFinite(x)); }

// log(1 + x) with the rounding error of 1 + x put back.
Expr Log1p(const Expr& x) {
  Expr one = Number(x, 1.0), u = one + x;
  Expr lost = Select(Less(u, Number(x, 2.0)), x - (u - one), one - (u - x));
  Expr finite = LogFinite(u) + lost / u;
  Expr is_tiny = Less(Abs(x), Number(x, IsDouble(x) ? 0x1p-54 : 0x1p-25));
  return Select(is_tiny, x, WithLogSpecials(u, finite));
}

Expr Asinh(const Expr& x) {
  Expr t = Abs(x), one = Number(x, 1.0), square = t * t;
  Expr near = Log1p(t + square / (one + Sqrt(square + one)));
  Expr far = Log(t) + Number(x, 0.6931471805599453);
  return WithSignOf(Abs(Select(Less(t, Number(x, 0x1p28)), near, far)), x);
}

Expr Acosh(const Expr& x) {
  Expr t = x - Number(x, 1.0);
  Expr near = Log1p(t + Sqrt(Fma(t, t, t + t)));
  Expr far = Log(x) + Number(x, 0.6931471805599453);
  Expr result = Select(Less(x, Number(x, 0x1p28)), near, far);
  return Select(Less(t, Number(x, 0.0)), Number(x, kNan), result);
}

Expr Atanh(const Expr& x) {
  Expr t = Abs(x);
  Expr result = Number(x, 0.5) * Log1p((t + t) / (Number(x, 1.0) - t));
  return FlipSign(result, x);
}

Expr Pow(const Expr& x, const Expr& y, MathTarget target) {
  Expr zero = Number(x, 0.0), one = Number(x, 1.0), infinity = Number(x, kInfinity);
  Expr t = Abs(x);
  LongLog log = LogLong(t);
  Expr is_special = Or(Equal(t, zero), Equal(t, infinity));
  Expr high = Select(is_special, Select(Equal(t, zero), Number(x, -kInfinity), infinity), log.high);
  Expr low = Select(is_special, zero, log.low);
  Expr product = y * high;
  Expr tail = Fma(y, high, Negate(product)) + y * low;
  tail = Select(Less(Abs(product), Number(x, 1000.0)), tail, zero);
  Expr magnitude = ExpOfLongSum(product, tail, target);

  Expr half_y = y * Number(x, 0.5);
  Expr is_integer = Equal(Unary(ExprOp::kTruncate, y), y);
  Expr is_odd = And(And(is_integer, Less(Abs(y), infinity)),
                    Binary(ExprOp::kNotEqual, Unary(ExprOp::kTruncate, half_y), half_y));
  Expr result = Select(And(IsNegative(x), is_odd), Negate(magnitude), magnitude);
  Expr is_undefined = And(And(Less(x, zero), Less(t, infinity)), Unary(ExprOp::kNot, is_integer));
  result = Select(is_undefined, Number(x, kNan), result);
  result = Select(Or(Unary(ExprOp::kIsNan, x), Unary(ExprOp::kIsNan, y)), Number(x, kNan), result);
  Expr minus_one_to_infinity = And(Equal(t, one), Equal(Abs(y), infinity));
  return Select(Or(Or(Equal(y, zero), Equal(x, one)), minus_one_to_infinity), one, result);
}

}  // namespace tvmvm::tensor::approximate
