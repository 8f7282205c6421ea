#include <limits>

#include "compiler/expr/approximate_build.h"
#include "compiler/expr/approximate_logarithm.h"

namespace tvmvm::tensor::approximate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// x = 2 m ln2 + r, |r| <= ln2, with m in the low bits of `shifted`: exp x = p(r) 2^m 2^m. Two factors that
// are always normal numbers give gradual underflow and overflow without a case.
struct EvenReduction {
  Expr shifted;  // m + a large constant whose bits add the exponent's bias
  Expr m;
};

// `scale` x + bias, rounded to an integer by the addition.
EvenReduction ReduceEven(const Expr& x, double scale) {
  Expr magic = Number(x, IsDouble(x) ? 0x1.8p52 + 1023 : 0x1.8p23 + 127);
  Expr shifted = Fma(x, Number(x, scale), magic);
  return {shifted, shifted - magic};
}

// 2^m of a reduction: the shift leaves only the biased exponent.
Expr PowerOfTwo(const Expr& shifted) {
  return Bitcast(shifted.dtype(),
                 ShiftLeft(Bitcast(UnsignedOf(shifted), shifted), IsDouble(shifted) ? 52 : 23));
}

Expr ScaleTwice(const Expr& p, const EvenReduction& reduction) {
  Expr power = PowerOfTwo(reduction.shifted);
  return p * power * power;
}

Expr ExpPolynomial(const Expr& r) {
  if (!IsDouble(r))
    return Polynomial(
        r, {1, 1, 0.500000298, 0.166666701, 0.0416616127, 0.00833277311, 0.00140988163, 0.00020074239});
  return Polynomial(
      r, {1, 1, 0.5, 0.16666666666666663, 0.041666666666666664, 0.008333333333335084, 0.0013888888888889982,
          0.00019841269838356894, 2.4801587299767824e-05, 2.7557321302089923e-06, 2.755732052204714e-07,
          2.5051387894005644e-08, 2.087630691488407e-09, 1.6178874964812216e-10, 1.154561064003438e-11});
}

// exp(x + tail) for a tail that is small beside x.
Expr ExpOfSum(Expr x, const Expr& tail) {
  bool is_double = IsDouble(x);
  x = AtLeast(AtMost(x, is_double ? 710.0 : 88.8), is_double ? -746.0 : -104.0);
  EvenReduction reduction = ReduceEven(x, 0x1.71547652b82fep-1);  // 1 / (2 ln2)
  Expr r = Fma(reduction.m, Number(x, is_double ? -0x1.62e42fefa39efp+0 : -0x1.62e43p+0), x);
  r = Fma(reduction.m, Number(x, is_double ? -0x1.abc9e3b39803fp-55 : 0x1.05c610ca86c39p-28), r);
  if (tail.valid()) r = r + tail;
  return ScaleTwice(ExpPolynomial(r), reduction);
}

// `r` or `limit`, whichever is nearer to 0; `limit` for NaN.
Expr Bounded(const Expr& r, double limit) {
  Expr c = Number(r, limit);
  return Select(LessEqual(Abs(r), c), r, c);
}

// `scale` x, rounded to an integer by the addition.
Expr Rounded(const Expr& x, double scale) {
  Expr magic = Number(x, IsDouble(x) ? 0x1.8p52 : 0x1.8p23);
  return Fma(x, Number(x, scale), magic) - magic;
}

// (e^r - 1) / r for |r| <= ln2 / 2
Expr ExpQuotient(const Expr& r) {
  if (!IsDouble(r))
    return Polynomial(r, {1, 0.49999994, 0.166665167, 0.0416681021, 0.00836919248, 0.0013838812});
  return Polynomial(r, {1, 0.5000000000000011, 0.1666666666666641, 0.041666666666529725, 0.008333333333494944,
                        0.001388888894376051, 0.0001984126950585396, 2.480149294911596e-05,
                        2.755758672964528e-06, 2.7630306427652947e-07, 2.5000042771495888e-08});
}

// x - n ln2
Expr WithoutPowers(const Expr& x, const Expr& n) {
  bool is_double = IsDouble(x);
  Expr r = Fma(n, Number(x, is_double ? -0x1.62e42fefa39efp-1 : -0x1.62e43p-1), x);
  return Fma(n, Number(x, is_double ? -0x1.abc9e3b39803fp-56 : 0x1.05c610ca86c39p-29), r);
}

// x = n ln2 + r, |r| <= ln2 / 2: exp x = p(r) 2^n, where a target has kScale, which underflows gradually and
// overflows by itself. Far beyond, where r means nothing and may be NaN, its bound keeps p(r) a positive
// number, so that n, which infinities and NaN reach, decides.
Expr ScaledExp(const Expr& x, const Expr& tail) {
  Expr n = Rounded(x, 0x1.71547652b82fep+0);  // 1 / ln2
  Expr r = WithoutPowers(x, n);
  if (tail.valid()) r = r + tail;
  r = Bounded(r, 0.36);
  return Scale(Fma(ExpQuotient(r), r, Number(x, 1.0)), n);
}

Expr ScaledExp2(const Expr& x) {
  Expr n = Rounded(x, 1.0);
  Expr r = Bounded(x - n, 0.51);
  Expr p = IsDouble(x) ? Polynomial(r, {1, 0.6931471805599457, 0.24022650695910097, 0.055504108664790296,
                                        0.009618129107606933, 0.0013333558153457183, 0.0001540353044168771,
                                        1.5252727374587623e-05, 1.321544260480519e-06, 1.018064982637895e-07,
                                        7.072584533348699e-09, 4.0780605042374384e-10})
                       : Polynomial(r, {1, 0.693147242, 0.240226552, 0.0555027276, 0.00961706508,
                                        0.00134177192, 0.000158246243});
  return Scale(p, n);
}

Expr EvenExp2(const Expr& argument) {
  bool is_double = IsDouble(argument);
  Expr x = AtLeast(AtMost(argument, is_double ? 1025.0 : 129.0), is_double ? -1080.0 : -152.0);
  EvenReduction reduction = ReduceEven(x, 0.5);
  Expr r = Fma(reduction.m, Number(x, -2.0), x);
  Expr p = is_double ? Polynomial(r, {1, 0.6931471805599453, 0.24022650695910072, 0.05550410866482154,
                                      0.009618129107628475, 0.0013333558146434476, 0.00015403530393384222,
                                      1.525273380044119e-05, 1.3215486788577673e-06, 1.017808704280544e-07,
                                      7.054912068282689e-09, 4.445386770952559e-10, 2.567778002870827e-11,
                                      1.3801536629803963e-12, 6.826381028029354e-14})
                     : Polynomial(r, {1, 0.693147182, 0.240226507, 0.0555041358, 0.00961813051, 0.00133322761,
                                      0.00015402642, 1.54575227e-05, 1.33572939e-06});
  return ScaleTwice(p, reduction);
}

// p(r) 2^n for x <= 0, with the power in two: one that is raised to a normal number whatever n is, and what
// lowers it again, so that it underflows gradually.
Expr RaisedExp(const Expr& argument) {
  bool is_double = IsDouble(argument);
  const int raised = is_double ? 64 : 32;
  Expr x = AtLeast(argument, is_double ? -746.0 : -104.0);
  Expr magic = Number(x, (is_double ? 0x1.8p52 + 1023 : 0x1.8p23 + 127) + raised);
  Expr shifted = Fma(x, Number(x, 0x1.71547652b82fep+0), magic);
  Expr r = WithoutPowers(x, shifted - magic);
  Expr p = Fma(ExpQuotient(r), r, Number(x, 1.0));
  return p * PowerOfTwo(shifted) * Number(x, is_double ? 0x1p-64 : 0x1p-32);
}

// (e^r - 1 - r) / r^2 for |r| <= ln2 / 2
Expr Expm1Tail(const Expr& r) {
  if (!IsDouble(r))
    return Polynomial(r, {0.5, 0.166666672, 0.0416664667, 0.00833331048, 0.00139336416, 0.000198909809});
  return Polynomial(
      r, {0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326141, 0.0013888888888883752,
          0.00019841269874800493, 2.4801587325533363e-05, 2.7557255425746435e-06, 2.7557273661348637e-07,
          2.510520637395701e-08, 2.0914679376583935e-09});
}

struct Expm1Parts {
  Expr q;     // e^r - 1
  Expr half;  // 2^(n-1), so that n = 1024 (128) does not overflow
};

Expm1Parts Expm1Reduce(const Expr& x) {
  bool is_double = IsDouble(x);
  Expr magic = Number(x, is_double ? 0x1.8p52 + 1022 : 0x1.8p23 + 126);
  Expr shifted = Fma(x, Number(x, 0x1.71547652b82fep+0), magic);
  Expr n = shifted - magic;
  Expr r = Fma(n, Number(x, is_double ? -0x1.62e42fefa39efp-1 : -0x1.62e43p-1), x);
  r = Fma(n, Number(x, is_double ? -0x1.abc9e3b39803fp-56 : 0x1.05c610ca86c39p-29), r);
  return {Fma(r * r, Expm1Tail(r), r), PowerOfTwo(shifted)};
}

// 1 - e^-x for 0 <= x <= 40, with few operations: 2^n q + (1 - 2^n), q = 1 - e^-r. What reducing x by a
// single constant loses is far below the result wherever n is not 0.
Expr OneMinusExp(const Expr& x) {
  bool is_double = IsDouble(x);
  Expr magic = Number(x, is_double ? 0x1.8p52 + 1023 : 0x1.8p23 + 127), one = Number(x, 1.0);
  Expr shifted = Fma(x, Number(x, -0x1.71547652b82fep+0), magic);
  Expr r = Fma(shifted - magic, Number(x, 0x1.62e42fefa39efp-1), x);
  Expr tail = is_double
                  ? Negate(Expm1Tail(Negate(r)))
                  : Polynomial(r, {-0.5, 0.16666576275, -0.041666373625, 0.008363205, -0.001394116553125});
  Expr power = PowerOfTwo(shifted);
  return Fma(power, Fma(r * r, tail, r), one - power);
}

}  // namespace

Expr ExpOfLongSum(const Expr& x, const Expr& tail, MathTarget target) {
  return target.has_scale ? ScaledExp(x, tail) : ExpOfSum(x, tail);
}

Expr Exp(const Expr& x, MathTarget target) { return ExpOfLongSum(x, {}, target); }

Expr FallingExp(const Expr& x, MathTarget target) {
  return target.has_scale ? ScaledExp(x, {}) : RaisedExp(x);
}

Expr Exp2(const Expr& x, MathTarget target) { return target.has_scale ? ScaledExp2(x) : EvenExp2(x); }

// 2^n (e^r - 1) + (2^n - 1)
Expr Expm1(const Expr& argument) {
  bool is_double = IsDouble(argument);
  Expr x = AtLeast(AtMost(argument, is_double ? 709.9 : 88.9), is_double ? -40.0 : -18.0);
  Expm1Parts parts = Expm1Reduce(x);
  Expr half_result = Fma(parts.q, parts.half, parts.half - Number(x, 0.5));
  Expr result = half_result + half_result;
  return Select(Less(Number(x, is_double ? 709.8 : 88.8), argument), Number(x, kInfinity), result);
}

// With t = 1 - e^(-2|x|): tanh|x| = t / (2 - t).
Expr Tanh(const Expr& x) {
  Expr t = OneMinusExp(AtMost(Number(x, 2.0) * Abs(x), IsDouble(x) ? 40.0 : 20.0));
  return WithSignOf(t / (Number(x, 2.0) - t), x);
}

// s / (s + s e^-x), s = 2^-24 (2^-54): small enough that s e^-x does not overflow where the result underflows
// gradually. With -x = n ln2 + r, s e^-x = 2^n s + 2^n s (e^r - 1): what is rounded twice is smaller than it.
Expr Sigmoid(const Expr& argument) {
  bool is_double = IsDouble(argument);
  const int bias = is_double ? 1023 - 54 : 127 - 24;
  Expr x = AtMost(AtLeast(argument, is_double ? -746.0 : -104.0), is_double ? 40.0 : 20.0);
  Expr magic = Number(x, (is_double ? 0x1.8p52 : 0x1.8p23) + bias);
  Expr shifted = Fma(x, Number(x, -0x1.71547652b82fep+0), magic);
  Expr r = WithoutPowers(Negate(x), shifted - magic);
  Expr power = PowerOfTwo(shifted), s = Number(x, is_double ? 0x1p-54 : 0x1p-24);
  return s / Fma(power * r, ExpQuotient(r), power + s);
}

// f32: 1 - e^-p, p = -log(1 - erf) by a polynomial, right beside 0, too.
Expr ShortErf(const Expr& x) {
  Expr t = AtMost(Abs(x), 4.0);
  Expr rest = Polynomial(t, {0.128379166, 0.636619389, 0.102777831, -0.0191530641, -0.000160395852,
                             0.00166702655, -0.000632835785, 0.000117640804, -9.25619224e-06});
  return WithSignOf(OneMinusExp(Fma(t, rest, t)), x);
}

// f64, beside 0: a polynomial.
Expr LongErf(const Expr& x, MathTarget target) {
  Expr magnitude = Abs(x);
  Expr p = Polynomial(x * x, {0.12837916709551256, -0.37612638903183543, 0.11283791670945006,
                              -0.02686617064323777, 0.0052239776071164225, -0.0008548325975389692,
                              0.00012055294904839707, -1.492473690741966e-05, 1.6447424703317362e-06,
                              -1.6208483801871705e-07, 1.3720064546777686e-08, -7.795898827002142e-10});
  Expr small = Fma(magnitude, p, magnitude);
  // erfc t = e^(-t^2) q((t - 2) / (t + 2))
  Expr t = AtLeast(AtMost(magnitude, 6.0), 1.0), two = Number(x, 2.0);
  Expr q =
      Polynomial((t - two) / (t + two),
                 {0.25539567631050575, -0.4271858474139585, 0.24165819424246585, -0.07897858101570611,
                  0.0037328924043978336, 0.006997461736971578, -0.00084714325299195, -0.0009819769411038642,
                  4.355558686575482e-05, 0.00017435947400205157, 2.7527175557227246e-05,
                  -2.7562209161129353e-05, -1.3998283772784976e-05, 1.3058577122278017e-06,
                  4.011749647325067e-06, 1.272567661840228e-06, -1.1352571477273627e-06});
  Expr large = Fma(Negate(Exp(Negate(t * t), target)), q, Number(x, 1.0));
  return WithSignOf(Select(Less(magnitude, Number(x, 1.0)), small, Abs(large)), x);
}

Expr Erf(const Expr& x, MathTarget target) { return IsDouble(x) ? LongErf(x, target) : ShortErf(x); }

Expr Sinh(const Expr& x, MathTarget target) {
  Expr magnitude = Abs(x), one = Number(x, 1.0), half = Number(x, 0.5);
  Expr t = Expm1(magnitude);
  Expr small = half * (t + t / (t + one));
  Expr root = Exp(magnitude * half, target);  // e^(|x|/2): its square overflows only where the result does
  Expr large = (half * root) * root;
  return WithSignOf(Select(Less(magnitude, Number(x, 40.0)), small, large), x);
}

Expr Cosh(const Expr& x, MathTarget target) {
  Expr half = Number(x, 0.5);
  Expr root = Exp(Abs(x) * half, target);
  return Fma(half * root, root, half / (root * root));
}

}  // namespace tvmvm::tensor::approximate
