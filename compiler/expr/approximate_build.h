// Small building blocks that the approximations share. Private to compiler/expr.
#pragma once

#include <initializer_list>

#include "compiler/expr/approximate.h"
#include "compiler/expr/expr.h"

namespace tvmvm::tensor::approximate {

// A constant of `like`'s dtype.
inline Expr Number(const Expr& like, double value) { return Constant(like.dtype(), value); }
inline Expr Bits(DType integer, uint64_t value) { return IntConstant(static_cast<int64_t>(value), integer); }

// c[0] + c[1] x + c[2] x^2 + ...
inline Expr Polynomial(const Expr& x, std::initializer_list<double> coefficients) {
  auto next = coefficients.end();
  Expr sum = Number(x, *--next);
  while (next != coefficients.begin()) sum = Fma(sum, x, Number(x, *--next));
  return sum;
}

inline bool IsDouble(const Expr& e) { return e.dtype() == DType::kF64; }
inline Expr Abs(const Expr& x) { return Unary(ExprOp::kAbs, x); }
inline Expr Negate(const Expr& x) { return Unary(ExprOp::kNegate, x); }
inline Expr Sqrt(const Expr& x) { return Unary(ExprOp::kSqrt, x); }
inline Expr ShiftLeft(const Expr& a, int bits) {
  return Binary(ExprOp::kShiftLeft, a, IntConstant(bits, a.dtype()));
}
inline Expr ShiftRight(const Expr& a, int bits) {
  return Binary(ExprOp::kShiftRight, a, IntConstant(bits, a.dtype()));
}

// The smaller and the larger of x and a constant; NaN stays NaN. One instruction, unlike kMin and kMax.
inline Expr AtMost(const Expr& x, double limit) {
  Expr c = Number(x, limit);
  return Select(Less(c, x), c, x);
}
inline Expr AtLeast(const Expr& x, double limit) {
  Expr c = Number(x, limit);
  return Select(Less(x, c), c, x);
}

inline DType UnsignedOf(const Expr& x) { return IsDouble(x) ? DType::kU64 : DType::kU32; }
inline Expr SignBit(const Expr& x) {
  DType bits = UnsignedOf(x);
  return And(Bitcast(bits, x), Bits(bits, IsDouble(x) ? uint64_t{1} << 63 : uint64_t{1} << 31));
}
// |magnitude| is not taken: the magnitude's sign bit must be clear.
inline Expr WithSignOf(const Expr& magnitude, const Expr& sign) {
  return Bitcast(magnitude.dtype(), Or(Bitcast(UnsignedOf(magnitude), magnitude), SignBit(sign)));
}
// Flips the sign of `x` where `sign` is negative.
inline Expr FlipSign(const Expr& x, const Expr& sign) {
  return Bitcast(x.dtype(), Binary(ExprOp::kXor, Bitcast(UnsignedOf(x), x), SignBit(sign)));
}
inline Expr IsNegative(const Expr& x) {  // by the sign bit, -0 included
  return Binary(ExprOp::kNotEqual, SignBit(x), Bits(UnsignedOf(x), 0));
}

// f32 and f64. Errors: exp, exp2, expm1, log, log1p, erf <= 2 ulp, sigmoid <= 2.5, tanh <= 3 (f32: see the
// tests).
Expr Exp(const Expr& x, MathTarget target);
Expr FallingExp(const Expr& x, MathTarget target);  // x: 0 at most, or NaN
Expr Exp2(const Expr& x, MathTarget target);
Expr Expm1(const Expr& x);
Expr Log(const Expr& x);
Expr Log1p(const Expr& x);
Expr Tanh(const Expr& x);
Expr Sigmoid(const Expr& x);
Expr Erf(const Expr& x, MathTarget target);
// f32 and f64, by reduction modulo pi/2 in f64: accurate to |x| <= 2^40; beyond that the angle is
// meaningless.
Expr Sin(const Expr& x);
Expr Cos(const Expr& x);
// f64 only: f32 goes through f64, which makes it nearly always correctly rounded.
Expr Tan(const Expr& x);
Expr Asin(const Expr& x);
Expr Acos(const Expr& x);
Expr Atan(const Expr& x);
Expr Atan2(const Expr& y, const Expr& x);
Expr Sinh(const Expr& x, MathTarget target);
Expr Cosh(const Expr& x, MathTarget target);
Expr Asinh(const Expr& x);
Expr Acosh(const Expr& x);
Expr Atanh(const Expr& x);
Expr Pow(const Expr& x, const Expr& y, MathTarget target);

// Conversions, integer powers and remainders that have no instruction: see expand_conversions.cc.
Expr ExpandCast(const Expr& cast);
Expr PowInteger(const Expr& x, const Expr& y);
Expr FloatRemainder(const Expr& x,
                    const Expr& y);  // of truncating division, f32 and f64; exact to quotients of 2^53
Expr FloatFloorMod(const Expr& x, const Expr& y);

}  // namespace tvmvm::tensor::approximate
