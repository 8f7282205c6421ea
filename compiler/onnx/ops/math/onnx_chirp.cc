#include "compiler/onnx/ops/math/onnx_chirp.h"

#include <numbers>

#include "compiler/onnx/ops/onnx_control.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// A length p * p * r.
struct Factors {
  Dim p, r;
  Dim length() const { return p * p * r; }
};

// Near the cube root of `length`, where three transforms of p, p and r numbers cost least: a power of two
// with length <= 8/3 p^3. What serves all lengths is known, so that products with it are.
int64_t SideOf(const Dim& length) {
  const std::optional<int64_t> known = length.constant();
  if (!known.has_value()) return 32;
  int64_t p = 2;
  while (p < 1 << 12 && *known / (8 * p * p) * 3 > p) p *= 2;
  return p;
}

// What turns complex numbers by an angle: their part `in` times entry [in, ..., out, ...] is what it adds to
// the part `out` of the result. All entries are cosines: cos, -sin; sin, cos.
ValueId Turn(OpBuilder& b, ValueId step, const Dim& whole, ValueId in, ValueId out, bool backwards,
             DType dtype) {
  ValueId angle = AngleOf(b, step, whole);
  ValueId quarter = b.Mul(b.Cast(b.Sub(in, out), DType::kF64), b.Scalar(DType::kF64, std::numbers::pi / 2));
  return b.Cast(b.Unary(ExprOp::kCos, backwards ? b.Add(quarter, angle) : b.Sub(quarter, angle)), dtype);
}

// Turns by j k / length for j < rows and k < columns: [in, rows, out, columns].
ValueId Turns(OpBuilder& b, const Dim& rows, const Dim& columns, const Dim& length, bool backwards,
              DType dtype) {
  auto index = [&](int axis) { return b.Iota(DType::kI64, {Dim(2), rows, Dim(2), columns}, axis); };
  return Turn(b, b.Mul(index(1), index(3)), length, index(0), index(2), backwards, dtype);
}

// Numbers whose parts are along `axis` of x, turned by [in, ..., out, ...], whose axis `out` is that one.
ValueId Turned(OpBuilder& b, ValueId x, int axis, ValueId turns) {
  auto term = [&](int64_t in) {
    return b.Mul(b.SliceAxis(x, axis, in, 1), b.Squeeze(b.SliceAxis(turns, 0, in, 1), {0}));
  };
  return b.dim(x, axis).IsConstant(1) ? term(0) : b.Add(term(0), term(1));
}

// Transforms of p * p * r numbers in three steps (Cooley and Tukey's), each a product with a small matrix of
// the parts of all complex numbers at once.
class ThreeSteps {
 public:
  ThreeSteps(OpBuilder& b, DType dtype, const Factors& f, bool inverse) : b_(b), f_(f) {
    auto matrix = [&](const Dim& n) {
      return b.Reshape(Turns(b, n, n, n, inverse, dtype), {n * Dim(2), n * Dim(2)});
    };
    first_ = matrix(f.p);
    last_ = matrix(f.r);
    outer_ = Turns(b, f.p * f.r, f.p, f.length(), inverse, dtype);
    inner_ = Turns(b, f.r, f.p, f.p * f.r, inverse, dtype);
  }

  // [rows, parts, length] -> [rows, 2, length]; without the division by the length. One part: real numbers.
  ValueId Of(ValueId x) const {
    const Dims d = b_.dims(x);
    const Dim &rows = d[0], &parts = d[1], &p = f_.p, &r = f_.r, two = 2;
    ValueId at = b_.Transpose(b_.Reshape(x, {rows, parts, p, p, r}), {0, 3, 4, 1, 2});
    at = Times(b_.Reshape(at, {rows, p * r, parts * p}), first_);
    at = Turned(b_, b_.Reshape(at, {rows, p * r, two, p}), 2, outer_);
    at = b_.Transpose(b_.Reshape(at, {rows, p, r, two, p}), {0, 4, 2, 3, 1});
    at = Times(b_.Reshape(at, {rows * p, r, two * p}), first_);
    at = Turned(b_, b_.Reshape(at, {rows * p, r, two, p}), 2, inner_);
    at = Times(b_.Reshape(b_.Transpose(at, {0, 3, 2, 1}), {rows * p, p, two * r}), last_);
    at = b_.Transpose(b_.Reshape(at, {rows, p, p, two, r}), {0, 3, 4, 2, 1});
    return b_.Reshape(at, {rows, two, f_.length()});
  }

 private:
  // The last axis by a matrix; real numbers by the rows of real parts.
  ValueId Times(ValueId x, ValueId matrix) const {
    const Dim used = b_.dim(x, 2);
    const ValueId rows = used == b_.dim(matrix, 0) ? matrix : b_.SliceAxis(matrix, 0, 0, used);
    return b_.Contract(x, rows, {}, {}, {2}, {0});
  }

  OpBuilder& b_;
  Factors f_;
  ValueId first_, last_;   // transforms of p and r numbers
  ValueId outer_, inner_;  // what turns between the steps
};

ValueId Padded(OpBuilder& b, ValueId x, const Dim& length) {
  return b.Pad(x, b.Scalar(b.dtype(x), 0), {0, 0, 0}, {0, 0, length - b.dim(x, 2)});
}

// Any length: as 2 j k = j j + k k - (k - j) (k - j), the transform is a convolution with a chirp
// (Bluestein's algorithm), done by transforms of a length that has factors. x: [rows, parts, used]
ValueId ByChirps(OpBuilder& b, ValueId x, const Dim& columns, const Dim& length, bool inverse) {
  const Dim rows = b.dim(x, 0), used = b.dim(x, 2), wanted = Max(used + columns - Dim(1), 1);
  const DType dtype = b.dtype(x);
  const int64_t side = SideOf(wanted);
  const Factors f{side, CeilDiv(wanted, side * side)};
  const ThreeSteps steps(b, dtype, f, false);
  const Dim whole = length * Dim(2);
  // Of the places up to the last: [in, out, n].
  auto chirp = [&](const Dim& n) {
    auto index = [&](int axis) { return b.Iota(DType::kI64, {Dim(2), Dim(2), n}, axis); };
    return Turn(b, b.Mul(index(2), index(2)), whole, index(0), index(1), inverse, dtype);
  };
  // Of the distances k - j from 0 on, and from the end backwards those below 0: [1, parts, length]
  auto index = [&](int axis) { return b.Iota(DType::kI64, {Dim(1), Dim(2), f.length()}, axis); };
  ValueId at = index(2), behind = b.Sub(b.DimScalar(f.length()), at);
  ValueId is_first = b.Binary(ExprOp::kLess, at, b.DimScalar(columns));
  ValueId is_one = b.Binary(ExprOp::kOr, is_first, b.Binary(ExprOp::kLess, behind, b.DimScalar(used)));
  ValueId distance = b.Where(is_first, at, behind);
  ValueId kernel =
      b.Where(is_one, Turn(b, b.Mul(distance, distance), whole, index(0), index(1), !inverse, dtype),
              b.Scalar(dtype, 0));
  // The kernel is one more row.
  ValueId signal = Padded(b, Turned(b, x, 1, chirp(used)), f.length());
  ValueId spectra = steps.Of(b.Concat({signal, kernel}, 0));
  ValueId answer = b.SliceAxis(spectra, 0, rows, 1);  // [1, 2, length]
  ValueId real = b.SliceAxis(answer, 1, 0, 1), imaginary = b.SliceAxis(answer, 1, 1, 1);
  // With the parts of a spectrum exchanged, the transform is the inverse one with its parts exchanged.
  ValueId exchanged =
      b.Concat({b.Concat({imaginary, real}, 1), b.Concat({real, b.Unary(ExprOp::kNegate, imaginary)}, 1)}, 0);
  ValueId sums = steps.Of(
      Turned(b, b.SliceAxis(spectra, 0, 0, rows), 1, b.Reshape(exchanged, {Dim(2), Dim(2), f.length()})));
  ValueId kept = b.SliceAxis(sums, 2, 0, columns);
  ValueId result =
      Turned(b, b.Concat({b.SliceAxis(kept, 1, 1, 1), b.SliceAxis(kept, 1, 0, 1)}, 1), 1, chirp(columns));
  return b.Mul(result, b.Div(b.Scalar(dtype, 1), b.Cast(b.DimScalar(f.length()), dtype)));
}

}  // namespace

Complex LongTransform(OpBuilder& b, const Complex& x, const Dim& columns, const Dim& length, bool inverse) {
  ValueId parts = b.Unsqueeze(x.real, {1});
  if (x.imaginary.valid()) parts = b.Concat({parts, b.Unsqueeze(x.imaginary, {1})}, 1);
  // The best side whose square a known length has, or one near it.
  int64_t side = SideOf(length);
  for (int i = 0; i < 2 && length.constant().value_or(0) % (side * side) != 0; ++i) side /= 2;
  const Factors factors{side, FloorDiv(length, side * side)};
  const auto in_three_steps = [&]() -> Expected<std::vector<ValueId>> {
    const ThreeSteps steps(b, b.dtype(parts), factors, inverse);
    return std::vector{b.SliceAxis(steps.Of(Padded(b, parts, factors.length())), 2, 0, columns)};
  };
  const auto by_chirps = [&]() -> Expected<std::vector<ValueId>> {
    return std::vector{ByChirps(b, parts, columns, length, inverse)};
  };
  const std::vector<ValueId> result = BuildIf(b, Equal(factors.length(), length), in_three_steps, by_chirps);
  if (result.size() != 1) return x;
  auto part = [&](int64_t number) { return b.Squeeze(b.SliceAxis(result[0], 1, number, 1), {1}); };
  return {part(0), part(1)};
}

}  // namespace tvmvm::ir
