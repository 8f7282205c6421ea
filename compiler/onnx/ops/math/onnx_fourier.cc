#include "compiler/onnx/ops/math/onnx_fourier.h"

#include <cmath>
#include <functional>
#include <numbers>

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

using std::numbers::pi;

constexpr int64_t kLargestFactor = 11;
constexpr int64_t kLongest = int64_t{1} << 20;

int64_t FactorOf(int64_t length) {
  for (int64_t factor = 2; factor <= kLargestFactor; ++factor)
    if (length % factor == 0) return factor;
  return length;
}

// A transform of p * m numbers is made of p-point ones, a rotation, and transforms of m numbers. Complex
// numbers are decimated in frequency, real ones in time: that keeps what is real by symmetry free of rounding
// errors.
class Transform {
 public:
  Transform(OpBuilder& b, DType dtype, bool inverse) : b_(b), dtype_(dtype), sign_(inverse ? 1 : -1) {}

  Complex DecimateInFrequency(const Complex& x, const Dim& rows, int64_t length) {
    if (length == 1) return x;
    int64_t p = FactorOf(length), m = length / p;
    std::vector<Complex> parts = SmallTransform(PartsOf(x, rows, p, m));
    Rotate(&parts, m, length);
    Complex inner =
        DecimateInFrequency(Stacked(parts, {rows, Dim(m)}, {rows * Dim(p), Dim(m)}), rows * Dim(p), m);
    return Each(inner, [&](ValueId part) {
      return Swapped(part, {rows, Dim(p), Dim(m)}, {rows, Dim(length)});
    });
  }

  Complex DecimateInTime(const Complex& x, const Dim& rows, int64_t length) {
    if (length == 1) return x;
    int64_t p = FactorOf(length), m = length / p;
    Complex apart = Each(x, [&](ValueId part) {
      return Swapped(part, {rows, Dim(m), Dim(p)}, {rows * Dim(p), Dim(m)});
    });
    std::vector<Complex> parts = PartsOf(DecimateInTime(apart, rows * Dim(p), m), rows, p, m);
    Rotate(&parts, m, length);
    return Stacked(SmallTransform(parts), {rows, Dim(m)}, {rows, Dim(length)});
  }

 private:
  static Complex Each(const Complex& x, const std::function<ValueId(ValueId)>& function) {
    return {function(x.real), x.imaginary.valid() ? function(x.imaginary) : ValueId()};
  }

  ValueId K(double value) { return b_.Scalar(dtype_, value); }
  ValueId Sum(ValueId x, ValueId y) { return !x.valid() ? y : !y.valid() ? x : b_.Add(x, y); }
  ValueId Difference(ValueId x, ValueId y) {
    if (!y.valid()) return x;
    return x.valid() ? b_.Sub(x, y) : b_.Unary(ExprOp::kNegate, y);
  }
  Complex Sum(const Complex& x, const Complex& y) {
    return {Sum(x.real, y.real), Sum(x.imaginary, y.imaginary)};
  }
  Complex Difference(const Complex& x, const Complex& y) {
    return {Difference(x.real, y.real), Difference(x.imaginary, y.imaginary)};
  }

  std::vector<Complex> PartsOf(const Complex& x, const Dim& rows, int64_t p, int64_t m) {
    Complex apart = Each(x, [&](ValueId part) { return b_.Reshape(part, {rows, Dim(p), Dim(m)}); });
    std::vector<Complex> parts;
    for (int64_t j = 0; j < p; ++j)
      parts.push_back(
          Each(apart, [&](ValueId part) { return b_.Squeeze(b_.SliceAxis(part, 1, j, 1), {1}); }));
    return parts;
  }

  // The parts one after another along a new axis 1, in the shape `result`.
  Complex Stacked(const std::vector<Complex>& parts, const Dims& dims, const Dims& result) {
    std::vector<ValueId> real, imaginary;
    bool is_real = true;
    for (const Complex& part : parts) is_real = is_real && !part.imaginary.valid();
    for (const Complex& part : parts) {
      real.push_back(b_.Unsqueeze(part.real, {1}));
      if (is_real) continue;
      ValueId zeros = part.imaginary.valid() ? part.imaginary : b_.Expand(K(0), dims);
      imaginary.push_back(b_.Unsqueeze(zeros, {1}));
    }
    auto joined = [&](std::vector<ValueId> list) {
      return b_.Reshape(b_.Concat(std::move(list), 1), result);
    };
    return {joined(std::move(real)), is_real ? ValueId() : joined(std::move(imaginary))};
  }

  // The last two of three axes swapped.
  ValueId Swapped(ValueId x, const Dims& apart, const Dims& result) {
    return b_.Reshape(b_.Transpose(b_.Reshape(x, apart), {0, 2, 1}), result);
  }

  void Rotate(std::vector<Complex>* parts, int64_t m, int64_t length) {
    for (size_t k = 1; k < parts->size() && m > 1; ++k)
      (*parts)[k] = Rotated((*parts)[k], static_cast<int64_t>(k), m, length);
  }

  // Times e^(+-2 pi i k j / length) for j < m.
  Complex Rotated(const Complex& x, int64_t k, int64_t m, int64_t length) {
    std::vector<double> cosines, sines;
    for (int64_t j = 0; j < m; ++j) {
      double angle = 2 * pi * static_cast<double>(k * j % length) / static_cast<double>(length);
      cosines.push_back(std::cos(angle));
      sines.push_back(sign_ * std::sin(angle));
    }
    auto constant = [&](const std::vector<double>& values) {
      return b_.Cast(b_.Constant(TensorData::FromVector(DType::kF64, {m}, values)), dtype_);
    };
    ValueId cosine = constant(cosines), sine = constant(sines);
    if (!x.imaginary.valid()) return {b_.Mul(x.real, cosine), b_.Mul(x.real, sine)};
    return {b_.Sub(b_.Mul(x.real, cosine), b_.Mul(x.imaginary, sine)),
            b_.Add(b_.Mul(x.real, sine), b_.Mul(x.imaginary, cosine))};
  }

  // The transform of so many numbers; parts j and p - j share their products.
  std::vector<Complex> SmallTransform(const std::vector<Complex>& x) {
    size_t p = x.size();
    if (p == 2) return {Sum(x[0], x[1]), Difference(x[0], x[1])};
    std::vector<Complex> sums, differences, result(p);
    for (size_t j = 1; 2 * j < p; ++j) {
      sums.push_back(Sum(x[j], x[p - j]));
      differences.push_back(Difference(x[j], x[p - j]));
    }
    result[0] = x[0];
    for (const Complex& sum : sums) result[0] = Sum(result[0], sum);
    for (size_t k = 1; 2 * k < p; ++k) {
      Complex even = x[0], odd;
      for (size_t j = 1; 2 * j < p; ++j) {
        double angle = 2 * pi * static_cast<double>(j * k % p) / static_cast<double>(p);
        auto times = [&](double factor) {
          return [this, factor](ValueId part) { return b_.Mul(part, K(factor)); };
        };
        even = Sum(even, Each(sums[j - 1], times(std::cos(angle))));
        Complex turned = Each(differences[j - 1], times(sign_ * std::sin(angle)));
        odd = j == 1 ? turned : Sum(odd, turned);
      }
      // The odd part times i.
      Complex crossed{odd.imaginary.valid() ? b_.Unary(ExprOp::kNegate, odd.imaginary) : ValueId(), odd.real};
      result[k] = Sum(even, crossed);
      result[p - k] = Difference(even, crossed);
    }
    return result;
  }

  OpBuilder& b_;
  DType dtype_;
  double sign_;
};

}  // namespace

ValueId AngleOf(OpBuilder& b, ValueId step, const Dim& whole) {
  ValueId period = b.DimScalar(whole);
  ValueId turn =
      b.Div(b.Cast(b.Binary(ExprOp::kFloorMod, step, period), DType::kF64), b.Cast(period, DType::kF64));
  return b.Mul(turn, b.Scalar(DType::kF64, 2 * pi));
}

bool HasFastTransform(int64_t length) {
  if (length < 1 || length > kLongest) return false;
  while (length > 1 && FactorOf(length) <= kLargestFactor) length /= FactorOf(length);
  return length == 1;
}

Complex FastTransform(OpBuilder& b, const Complex& x, int64_t length, bool inverse) {
  Dim rows = b.dim(x.real, 0);
  Transform transform(b, b.dtype(x.real), inverse);
  return x.imaginary.valid() ? transform.DecimateInFrequency(x, rows, length)
                             : transform.DecimateInTime(x, rows, length);
}

}  // namespace tvmvm::ir
