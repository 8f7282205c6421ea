#include "compiler/expr/approximate_build.h"

namespace tvmvm::tensor::approximate {
namespace {

constexpr double kPi = 0x1.921fb54442d18p+1, kHalfPi = 0x1.921fb54442d18p+0,
                 kHalfPiLow = 0x1.1a62633145c07p-54;
constexpr double kLargestAngle = 0x1p40;

// x = quadrant pi/2 + (r + r_low), |r| <= pi/4.
struct Angle {
  Expr r;
  Expr r_low;     // f64 only
  Expr quadrant;  // integer of the width of r, the low two bits count
};

struct Sum {
  Expr value;
  Expr error;
};

Sum TwoSum(const Expr& a, const Expr& b) {
  Expr sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

// In f64. With `is_long` the remainder keeps about 100 bits.
Angle ReduceDouble(const Expr& argument, bool is_long) {
  // Infinity and NaN become NaN, angles without meaning become 0.
  Expr x = Select(Less(Abs(argument), Number(argument, kLargestAngle)), argument, argument - argument);
  Expr magic = Number(x, 0x1.8p52);
  Expr shifted = Fma(x, Number(x, 0x1.45f306dc9c883p-1), magic);
  Expr n = shifted - magic;
  Expr quadrant = Bitcast(DType::kU64, shifted);
  if (!is_long) {
    Expr r = Fma(n, Number(x, -kHalfPi), x);
    return {Fma(n, Number(x, -kHalfPiLow), r), {}, quadrant};
  }
  Expr first = n * Number(x, kHalfPi), first_low = Fma(n, Number(x, kHalfPi), Negate(first));
  Expr second = n * Number(x, kHalfPiLow), second_low = Fma(n, Number(x, kHalfPiLow), Negate(second));
  Sum a = TwoSum(x - first, Negate(first_low));
  Sum b = TwoSum(a.value, Negate(second));
  Expr low = (a.error + b.error) - second_low;
  low = Fma(n, Number(x, 0x1.f1976b7ed8fbcp-110), low);
  Expr r = b.value + low;
  return {r, low - (r - b.value), quadrant};
}

Angle Reduce(const Expr& x) {
  if (IsDouble(x)) return ReduceDouble(x, true);
  Angle angle = ReduceDouble(Cast(DType::kF64, x), false);
  return {Cast(DType::kF32, angle.r), {}, Cast(DType::kU32, angle.quadrant)};
}

Expr SineOfRemainder(const Angle& angle) {
  const Expr& r = angle.r;
  Expr z = r * r;
  if (!IsDouble(r)) return Fma(r * z, Polynomial(z, {-0.166666642, 0.00833274797, -0.000195878907}), r);
  Expr tail = Polynomial(z, {-0.16666666666666666, 0.008333333333330936, -0.00019841269836740532,
                             2.7557316093198404e-06, -2.5051129896450185e-08, 1.5917988979397435e-10});
  Expr low = angle.r_low * Fma(z, Number(r, -0.5), Number(r, 1.0));
  return r + Fma(r * z, tail, low);
}

Expr CosineOfRemainder(const Angle& angle) {
  const Expr& r = angle.r;
  Expr z = r * r, one = Number(r, 1.0);
  if (!IsDouble(r)) {
    Expr tail = Polynomial(z, {0.0416666642, -0.00138883025, 2.45479423e-05});
    return Fma(z * z, tail, Fma(z, Number(r, -0.5), one));
  }
  Expr tail = Polynomial(z, {0.041666666666666664, -0.0013888888888887389, 2.48015872987544e-05,
                             -2.755731726587808e-07, 2.087614504941318e-09, -1.138254464534925e-11});
  Expr half = z * Number(r, 0.5), main = one - half;
  Expr lost = (one - main) - half;
  return main + (lost + Fma(z * z, tail, Negate(r * angle.r_low)));
}

// The quadrant, moved by `offset`, chooses the function by its low bit and the sign by the next.
Expr ChooseQuadrant(const Angle& angle, int offset) {
  DType integer = angle.quadrant.dtype();
  Expr quadrant = angle.quadrant + IntConstant(offset, integer);
  Expr is_cosine = Binary(ExprOp::kNotEqual, And(quadrant, IntConstant(1, integer)), IntConstant(0, integer));
  Expr value = Select(is_cosine, CosineOfRemainder(angle), SineOfRemainder(angle));
  Expr sign = ShiftLeft(And(quadrant, IntConstant(2, integer)), IsDouble(angle.r) ? 62 : 30);
  return Bitcast(value.dtype(), Binary(ExprOp::kXor, Bitcast(integer, value), sign));
}

Expr AtanTail(const Expr& z) {  // (atan q - q) / q^3
  return Polynomial(z, {-0.3333333333333333, 0.19999999999995516, -0.14285714284665682, 0.11111111015187018,
                        -0.0909090457530649, 0.07692183125376892, -0.06664510525508936, 0.05858140904866328,
                        -0.050854078345894844, 0.03923044778479309, -0.019175404711104935});
}

// atan(a / b) for a, b >= 0: turned by 0, pi/4 or pi/2 so that the quotient is at most tan(pi/8). One
// division.
Expr AtanOfQuotient(const Expr& a, const Expr& b) {
  Expr zero = Number(a, 0.0);
  Expr is_steep = Less(b * Number(a, 2.414213562373095), a);
  Expr is_middle = Less(b * Number(a, 0.41421356237309503), a);
  Expr numerator = Select(is_steep, Negate(b), Select(is_middle, a - b, a));
  Expr denominator = Select(is_steep, a, Select(is_middle, a + b, b));
  Expr base = Select(is_steep, Number(a, kHalfPi), Select(is_middle, Number(a, kHalfPi / 2), zero));
  Expr base_low = Select(is_steep, Number(a, kHalfPiLow), Select(is_middle, Number(a, kHalfPiLow / 2), zero));
  Expr q = Select(Equal(numerator, zero), zero, numerator / denominator);
  Expr z = q * q;
  return base + (q + Fma(q * z, AtanTail(z), base_low));
}

Expr AsinTail(const Expr& z) {  // (asin q - q) / q^3, z = q^2 <= 1/4
  return Polynomial(z, {0.16666666666666666, 0.07500000000000118, 0.044642857142551895, 0.03038194447553234,
                        0.02237215744350722, 0.017352816540325496, 0.01396378001220357, 0.011566459612121669,
                        0.009621842970100282, 0.009319560794767446, 0.0030448799094556773,
                        0.019554513336123378, -0.01924167174674304, 0.02961201126495512});
}

// asin of |x| <= 1/2, and of the half-angle argument beyond.
struct AsinParts {
  Expr is_small;
  Expr value;  // asin(|x|), or asin(sqrt((1 - |x|) / 2))
};

AsinParts ReduceAsin(const Expr& x) {
  Expr t = Abs(x), half = Number(x, 0.5);
  Expr is_small = LessEqual(t, half);
  Expr z = Select(is_small, t * t, (Number(x, 1.0) - t) * half);
  Expr q = Select(is_small, t, Sqrt(z));
  return {is_small, Fma(q * z, AsinTail(z), q)};
}

}  // namespace

Expr Sin(const Expr& x) { return ChooseQuadrant(Reduce(x), 0); }
Expr Cos(const Expr& x) { return ChooseQuadrant(Reduce(x), 1); }

Expr Tan(const Expr& x) {
  Angle angle = Reduce(x);
  DType integer = angle.quadrant.dtype();
  Expr is_odd =
      Binary(ExprOp::kNotEqual, And(angle.quadrant, IntConstant(1, integer)), IntConstant(0, integer));
  Expr sine = SineOfRemainder(angle), cosine = CosineOfRemainder(angle);
  return Select(is_odd, Negate(cosine), sine) / Select(is_odd, sine, cosine);
}

Expr Atan(const Expr& x) {
  Expr t = Abs(x);
  return WithSignOf(Abs(AtanOfQuotient(t, Number(x, 1.0))), x);
}

Expr Atan2(const Expr& y, const Expr& x) {
  Expr a = Abs(y), b = Abs(x), infinity = Number(x, __builtin_inf()), one = Number(x, 1.0);
  Expr both_infinite = And(Equal(a, infinity), Equal(b, infinity));
  Expr is_huge = Less(Number(x, 0x1p1000), Max(a, b));  // a + b must not overflow
  Expr scale = Select(is_huge, Number(x, 0.25), one);
  Expr angle = AtanOfQuotient(Select(both_infinite, one, a * scale), Select(both_infinite, one, b * scale));
  angle = Select(IsNegative(x), Number(x, kPi) - (angle - Number(x, 2 * kHalfPiLow)), angle);
  Expr result = WithSignOf(Abs(angle), y);
  return Select(Or(Unary(ExprOp::kIsNan, x), Unary(ExprOp::kIsNan, y)), x + y, result);
}

Expr Asin(const Expr& x) {
  AsinParts parts = ReduceAsin(x);
  Expr large = Number(x, kHalfPi) - (parts.value + parts.value - Number(x, kHalfPiLow));
  return WithSignOf(Abs(Select(parts.is_small, parts.value, large)), x);
}

Expr Acos(const Expr& x) {
  AsinParts parts = ReduceAsin(x);
  Expr signed_value = WithSignOf(Abs(parts.value), x);
  Expr middle = Number(x, kHalfPi) - (signed_value - Number(x, kHalfPiLow));
  Expr doubled = parts.value + parts.value;
  Expr outer = Select(IsNegative(x), Number(x, kPi) - (doubled - Number(x, 2 * kHalfPiLow)), doubled);
  return Select(parts.is_small, middle, outer);
}

}  // namespace tvmvm::tensor::approximate
