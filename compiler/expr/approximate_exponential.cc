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

Expr SelectSign(const Expr& magnitude, const Expr& x) { return WithSignOf(magnitude, x); }

}  // namespace

Expr ExpOfLongSum(const Expr& x, const Expr& tail) { return ExpOfSum(x, tail); }

Expr Exp(const Expr& x) { return ExpOfSum(x, {}); }

Expr Exp2(const Expr& argument) {
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

// 2^n (e^r - 1) + (2^n - 1)
Expr Expm1(const Expr& argument) {
  bool is_double = IsDouble(argument);
  Expr x = AtLeast(AtMost(argument, is_double ? 709.9 : 88.9), is_double ? -40.0 : -18.0);
  Expm1Parts parts = Expm1Reduce(x);
  Expr half_result = Fma(parts.q, parts.half, parts.half - Number(x, 0.5));
  Expr result = half_result + half_result;
  return Select(Less(Number(x, is_double ? 709.8 : 88.8), argument), Number(x, kInfinity), result);
}

// With t = e^(-2|x|) - 1: tanh|x| = -t / (t + 2).
Expr Tanh(const Expr& x) {
  Expr doubled = AtLeast(Number(x, -2.0) * Abs(x), IsDouble(x) ? -44.0 : -20.0);
  Expm1Parts parts = Expm1Reduce(doubled);
  Expr half_t = Fma(parts.q, parts.half, parts.half - Number(x, 0.5));
  Expr quotient = Negate(half_t) / (half_t + Number(x, 1.0));
  return SelectSign(Abs(quotient), x);
}

// With z = e^-|x|: 1 / (1 + z), or z / (1 + z) on the left; nothing overflows.
Expr Sigmoid(const Expr& x) {
  Expr z = Exp(Negate(Abs(x)));
  Expr one = Number(x, 1.0);
  return Select(Less(x, Number(x, 0.0)), z, one) / (one + z);
}

Expr Erf(const Expr& x) {
  Expr magnitude = Abs(x), square = x * x;
  Expr small, large;
  double border = 0;
  if (IsDouble(x)) {
    border = 1.0;
    Expr p = Polynomial(square, {0.12837916709551256, -0.37612638903183543, 0.11283791670945006,
                                 -0.02686617064323777, 0.0052239776071164225, -0.0008548325975389692,
                                 0.00012055294904839707, -1.492473690741966e-05, 1.6447424703317362e-06,
                                 -1.6208483801871705e-07, 1.3720064546777686e-08, -7.795898827002142e-10});
    small = Fma(magnitude, p, magnitude);
    // erfc t = e^(-t^2) q((t - 2) / (t + 2))
    Expr t = AtLeast(AtMost(magnitude, 6.0), 1.0), two = Number(x, 2.0);
    Expr q =
        Polynomial((t - two) / (t + two),
                   {0.25539567631050575, -0.4271858474139585, 0.24165819424246585, -0.07897858101570611,
                    0.0037328924043978336, 0.006997461736971578, -0.00084714325299195, -0.0009819769411038642,
                    4.355558686575482e-05, 0.00017435947400205157, 2.7527175557227246e-05,
                    -2.7562209161129353e-05, -1.3998283772784976e-05, 1.3058577122278017e-06,
                    4.011749647325067e-06, 1.272567661840228e-06, -1.1352571477273627e-06});
    large = Fma(Negate(Exp(Negate(t * t))), q, Number(x, 1.0));
  } else {
    border = 0.92;
    Expr p = Polynomial(
        square, {0.128379151, -0.376125008, 0.112818807, -0.0267687105, 0.00499595143, -0.000600372208});
    small = Fma(magnitude, p, magnitude);
    Expr log_erfc = Polynomial(AtMost(magnitude, 4.0),
                               {0.000318539649, -1.13023102, -0.631823897, -0.110087164, 0.0264276378,
                                -0.00476262579, 0.000597585749, -4.61638592e-05, 1.64306368e-06});
    large = Number(x, 1.0) - Exp(log_erfc);
  }
  return WithSignOf(Select(Less(magnitude, Number(x, border)), small, Abs(large)), x);
}

Expr Sinh(const Expr& x) {
  Expr magnitude = Abs(x), one = Number(x, 1.0), half = Number(x, 0.5);
  Expr t = Expm1(magnitude);
  Expr small = half * (t + t / (t + one));
  Expr root = Exp(magnitude * half);  // e^(|x|/2): its square overflows only where the result does
  Expr large = (half * root) * root;
  return WithSignOf(Select(Less(magnitude, Number(x, 40.0)), small, large), x);
}

Expr Cosh(const Expr& x) {
  Expr half = Number(x, 0.5);
  Expr root = Exp(Abs(x) * half);
  return Fma(half * root, root, half / (root * root));
}

}  // namespace tvmvm::tensor::approximate
