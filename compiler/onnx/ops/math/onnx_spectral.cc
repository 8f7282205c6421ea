// Fourier transforms, fast ones or as products with matrices of sines and cosines, and mel filters.
#include <fmt/core.h>

#include <span>

#include "compiler/onnx/ops/math/onnx_chirp.h"
#include "compiler/onnx/ops/math/onnx_fourier.h"
#include "compiler/onnx/ops/onnx_checks.h"
#include "compiler/onnx/ops/onnx_control.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

constexpr double kLog10 = 2.302585092994045684;

// cos and sin of 2 pi j k / length for j < rows and every `step`-th k of the first `columns`.
Complex Rotations(OpBuilder& b, const Dim& rows, const Dim& columns, const Dim& length, DType dtype,
                  int64_t step = 1) {
  Dims plane{rows, columns};
  ValueId product = b.Mul(b.Iota(DType::kI64, plane, 0), b.Iota(DType::kI64, plane, 1));
  if (step != 1) product = b.Mul(product, b.ScalarInt(DType::kI64, step));
  ValueId angle = AngleOf(b, product, Max(length, 1));
  return {b.Cast(b.Unary(ExprOp::kCos, angle), dtype), b.Cast(b.Unary(ExprOp::kSin, angle), dtype)};
}

// The same where sizes are known only at run time: columns k = 16 h + l take the product of two rotations,
// of 16 h and of l, so that few sines are computed.
Complex RotationsAtRunTime(OpBuilder& b, const Dim& rows, const Dim& columns, const Dim& length,
                           DType dtype) {
  constexpr int64_t kTogether = 16;
  const Dim groups = CeilDiv(columns, Dim(kTogether));
  Complex coarse = Rotations(b, rows, groups, length, dtype, kTogether);
  Complex fine = Rotations(b, rows, Dim(kTogether), length, dtype);
  for (ValueId* part : {&coarse.real, &coarse.imaginary}) *part = b.Unsqueeze(*part, {2});
  for (ValueId* part : {&fine.real, &fine.imaginary}) *part = b.Unsqueeze(*part, {1});
  auto joined = [&](ValueId all) {
    return b.SliceAxis(b.Reshape(all, {rows, groups * Dim(kTogether)}), 1, 0, columns);
  };
  return {joined(b.Sub(b.Mul(coarse.real, fine.real), b.Mul(coarse.imaginary, fine.imaginary))),
          joined(b.Add(b.Mul(coarse.real, fine.imaginary), b.Mul(coarse.imaginary, fine.real)))};
}

Complex RotationMatrix(OpBuilder& b, const Dim& rows, const Dim& columns, const Dim& length, DType dtype) {
  const bool is_known = rows.is_constant() && columns.is_constant() && length.is_constant();
  return is_known ? Rotations(b, rows, columns, length, dtype)
                  : RotationsAtRunTime(b, rows, columns, length, dtype);
}

// Product of the last axis with a matrix.
ValueId Times(OpBuilder& b, ValueId x, ValueId matrix) {
  return b.Contract(x, matrix, {}, {}, {b.rank(x) - 1}, {0});
}

// Sum over j of x_j times e^(-i angle), or e^(i angle) for the inverse, along the last axis.
Complex Rotate(OpBuilder& b, const Complex& x, const Complex& rotation, bool inverse) {
  ValueId cosines = Times(b, x.real, rotation.real);
  ValueId sines = Times(b, x.real, rotation.imaginary);
  if (!x.imaginary.valid()) return {cosines, inverse ? sines : b.Unary(ExprOp::kNegate, sines)};
  ValueId imaginary_cosines = Times(b, x.imaginary, rotation.real);
  ValueId imaginary_sines = Times(b, x.imaginary, rotation.imaginary);
  if (inverse) return {b.Sub(cosines, imaginary_sines), b.Add(imaginary_cosines, sines)};
  return {b.Add(cosines, imaginary_sines), b.Sub(imaginary_cosines, sines)};
}

// Splits [..., 1 or 2] into parts without the last axis.
Complex PartsOf(OnnxContext& c, ValueId x) {
  OpBuilder& b = c.b;
  int last = b.rank(x) - 1;
  auto part = [&](const Dim& at) { return b.Squeeze(b.SliceAxis(x, last, at, 1), {last}); };
  Dim count = b.dim(x, last);
  b.Require(Or(Equal(count, 1), Equal(count, 2)), "the last axis has {0} elements, 1 or 2 are wanted",
            {count});
  if (b.failed()) return {x, x};
  if (count.is_constant()) return {part(0), count.IsConstant(2) ? part(1) : ValueId()};
  ValueId is_complex = b.Binary(ExprOp::kEqual, b.DimScalar(count), b.ScalarInt(DType::kI64, 2));
  return {part(0), b.Where(is_complex, part(Max(count - Dim(1), 0)), b.Scalar(b.dtype(x), 0))};
}

ValueId Joined(OpBuilder& b, const Complex& x) {
  int last = b.rank(x.real);
  return b.Concat({b.Unsqueeze(x.real, {last}), b.Unsqueeze(x.imaginary, {last})}, last);
}

// Weights of the half spectrum of a real signal: the frequencies that are not their own mirror image count
// twice.
ValueId MirrorWeights(OpBuilder& b, const Dim& kept, const Dim& length, DType dtype) {
  ValueId k = b.Iota(DType::kI64, {kept}, 0);
  ValueId twice = b.Mul(k, b.ScalarInt(DType::kI64, 2));
  ValueId own = b.Binary(ExprOp::kOr, b.Binary(ExprOp::kEqual, k, b.ScalarInt(DType::kI64, 0)),
                         b.Binary(ExprOp::kEqual, twice, b.DimScalar(length)));
  return b.Where(own, b.Scalar(dtype, 1), b.Scalar(dtype, 2));
}

// Lengths for which there is no fast transform: [outer, inner, columns].
Complex ShortOrLong(OpBuilder& b, const Complex& x, const Dim& columns, const Dim& length, bool inverse) {
  constexpr int64_t kShort = 512;  // a product with a matrix costs less
  const Dims d = b.dims(x.real);
  // Memory is planned for both branches: the one that is not taken must not ask for much.
  auto short_one = [&]() -> Expected<std::vector<ValueId>> {
    const Dim used = Min(d[2], kShort), kept = Min(columns, kShort);
    auto cut = [&](ValueId part) { return part.valid() ? b.SliceAxis(part, 2, 0, used) : part; };
    const Complex rotations = RotationMatrix(b, used, kept, length, b.dtype(x.real));
    const Complex result = Rotate(b, {cut(x.real), cut(x.imaginary)}, rotations, inverse);
    auto back = [&](ValueId part) { return b.Reshape(part, {d[0], d[1], columns}); };
    return std::vector{back(result.real), back(result.imaginary)};
  };
  auto long_one = [&]() -> Expected<std::vector<ValueId>> {
    auto rows = [&](ValueId part) { return part.valid() ? b.Reshape(part, {d[0] * d[1], d[2]}) : part; };
    const Complex result = LongTransform(b, {rows(x.real), rows(x.imaginary)}, columns, length, inverse);
    auto back = [&](ValueId part) { return b.Reshape(part, {d[0], d[1], columns}); };
    return std::vector{back(result.real), back(result.imaginary)};
  };
  const std::vector<ValueId> parts = BuildIf(b, LessEqual(length, kShort), short_one, long_one);
  return parts.size() == 2 ? Complex{parts[0], parts[1]} : x;
}

// The transform along the last axis of x [outer, inner, used], continued by zeros: [outer, inner, columns].
Complex Transformed(OpBuilder& b, const Complex& x, const Dim& columns, const Dim& length, bool inverse) {
  DType dtype = b.dtype(x.real);
  auto known = length.constant();
  if (!known.has_value() || !HasFastTransform(*known)) return ShortOrLong(b, x, columns, length, inverse);
  DType wide = WideType(dtype);
  Dims d = b.dims(x.real), none(3, Dim(0)), rest{0, 0, length - d[2]};
  auto rows = [&](ValueId part) {
    if (!part.valid()) return part;
    ValueId whole = b.Pad(b.Cast(part, wide), b.Scalar(wide, 0), none, rest);
    return b.Reshape(whole, {d[0] * d[1], length});
  };
  Complex result = FastTransform(b, {rows(x.real), rows(x.imaginary)}, *known, inverse);
  auto back = [&](ValueId part) {
    if (!part.valid()) part = b.Expand(b.Scalar(wide, 0), {d[0] * d[1], length});
    return b.Cast(b.SliceAxis(b.Reshape(part, {d[0], d[1], length}), 2, 0, columns), dtype);
  };
  return {back(result.real), back(result.imaginary)};
}

// The data seen as [outer, extent, inner, 1 or 2 parts] around an axis, which may be known only when the
// model runs: kernels are the same whatever the rank.
struct AroundAxis {
  AroundAxis(const Dim& axis, const Dims& dims) : axis(axis), dims(dims) {
    for (size_t i = 0; i + 1 < dims.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      outer = outer * Select(Less(at, axis), dims[i], 1);
      extent = Select(Equal(axis, at), dims[i], extent);
      inner = inner * Select(Less(axis, at), dims[i], 1);
    }
  }

  // The sizes of the data with other ones along the axis and of the parts.
  Dims With(const Dim& size, int64_t parts) const {
    Dims sizes = dims;
    for (size_t i = 0; i + 1 < dims.size(); ++i)
      sizes[i] = Select(Equal(axis, static_cast<int64_t>(i)), size, dims[i]);
    sizes.back() = parts;
    return sizes;
  }

  Dim axis;
  Dims dims;
  Dim outer = 1, extent = 1, inner = 1;
};

ValueId TransformAlong(OnnxContext& c, const AroundAxis& around) {
  OpBuilder& b = c.b;
  bool inverse = c.Int("inverse", 0) != 0;
  bool onesided = c.Int("onesided", 0) != 0;
  DType dtype = b.dtype(c.in(0));
  Dim given = around.extent;
  Dim length = inverse && onesided ? (given - Dim(1)) * Dim(2) : given;
  if (c.has(1)) length = ReadScalar(c, 1, 1);
  if (c.has(1)) b.Require(LessEqual(1, length), "a transform of {0} elements", {length});
  length = Max(length, 1);
  // The signal is cut or continued by zeros, which add nothing.
  Dim used = Min(given, inverse && onesided ? FloorDiv(length, 2) + Dim(1) : length);
  ValueId x = b.Reshape(c.in(0), {around.outer, given, around.inner, around.dims.back()});
  Complex parts = PartsOf(c, b.SliceAxis(x, 1, 0, used));
  if (b.failed()) return x;
  auto swap = [&](ValueId part) { return part.valid() ? b.Transpose(part, {0, 2, 1}) : part; };
  parts = {swap(parts.real), swap(parts.imaginary)};
  ValueId scale = b.Div(b.Scalar(dtype, 1), b.Cast(b.DimScalar(length), dtype));
  if (inverse && onesided) {
    ValueId weights = b.Mul(MirrorWeights(b, used, length, dtype), scale);
    parts.real = b.Mul(parts.real, weights);
    if (parts.imaginary.valid()) parts.imaginary = b.Mul(parts.imaginary, weights);
    ValueId signal = Transformed(b, parts, length, length, true).real;
    return b.Reshape(swap(signal), around.With(length, 1));
  }
  Dim columns = onesided ? FloorDiv(length, 2) + Dim(1) : length;
  Complex result = Transformed(b, parts, columns, length, inverse);
  if (inverse) result = {b.Mul(result.real, scale), b.Mul(result.imaginary, scale)};
  return b.Reshape(Joined(b, {swap(result.real), swap(result.imaginary)}), around.With(columns, 2));
}

// Along that of the axes which is `chosen` when the model runs; the last one where none is.
ValueId TransformAlongAny(OnnxContext& c, const Dim& chosen, std::span<const Dim> axes) {
  const auto along = [&](const Dim& axis) { return TransformAlong(c, {axis, c.b.dims(c.in(0))}); };
  if (axes.size() == 1) return along(axes[0]);
  std::vector<ValueId> results = BuildIf(
      c.b, Equal(chosen, axes[0]),
      [&]() -> Expected<std::vector<ValueId>> { return std::vector{along(axes[0])}; },
      [&]() -> Expected<std::vector<ValueId>> {
        return std::vector{TransformAlongAny(c, chosen, axes.subspan(1))};
      });
  return results.empty() ? c.in(0) : results[0];
}

// What is computed apart of an axis that is known when the model runs: each one of a known size, for which
// there may be a fast transform, and at the end all others at once.
Dims AxesApart(const Dims& dims, const Dim& chosen) {
  Dims known, others;
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    (dims[i].is_constant() ? known : others).push_back(static_cast<int64_t>(i));
  if (!others.empty()) known.push_back(others.size() == 1 ? others[0] : chosen);
  return known;
}

// Discrete Fourier transforms. In newer versions the axis may be known only when the model runs.
void Dft(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  if (rank < 2) {
    b.Fail(Code::kInvalidArgument, fmt::format("rank {}, at least 2 is wanted", rank));
    return;
  }
  Dim axis = c.version < 20 ? Dim(c.Int("axis", 1)) : ReadScalar(c, 2, -2);
  if (b.failed()) return;
  if (auto known = axis.constant()) {
    int position = b.NormalizeAxis(*known, rank);
    if (!b.failed() && position == rank - 1)
      b.Fail(Code::kInvalidArgument,
             fmt::format("axis {} of rank {} holds the parts of the numbers", *known, rank));
    if (!b.failed()) c.Out(0, TransformAlong(c, {position, b.dims(c.in(0))}));
    return;
  }
  // The last axis is none.
  ValueId given = b.Cast(b.Reshape(c.in(2), {1}), DType::kI64);
  ValueId is_negative = b.Binary(ExprOp::kLess, given, b.ScalarInt(DType::kI64, 0));
  CheckIndices(b, given, {Dim(rank)});
  CheckIndices(b, b.Where(is_negative, b.Add(given, b.ScalarInt(DType::kI64, rank)), given), {Dim(rank - 1)});
  const Dim chosen = Select(Less(axis, 0), axis + Dim(rank), axis);
  c.Out(0, TransformAlongAny(c, chosen, AxesApart(b.dims(c.in(0)), chosen)));
}

// Signal [batch, length, 1 or 2], step, window, frame length.
void Stft(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId signal = c.in(0);
  DType dtype = b.dtype(signal);
  Dims step = b.ReadDims(b.Reshape(c.in(1), {}));
  if (b.failed()) return;
  Dim frame;
  if (c.has(3)) {
    Dims read = b.ReadDims(b.Reshape(c.in(3), {}));
    if (b.failed()) return;
    frame = read[0];
  } else if (c.has(2)) {
    frame = b.dim(c.in(2), 0);
  } else {
    b.Fail(Code::kInvalidArgument, "neither a window nor a frame length is given");
    return;
  }
  if (b.rank(signal) != 2 && b.rank(signal) != 3) {
    b.Fail(Code::kInvalidArgument, fmt::format("a signal of rank {}, 2 or 3 is wanted", b.rank(signal)));
    return;
  }
  if (b.rank(signal) == 2) signal = b.Unsqueeze(signal, {2});
  b.Require(LessEqual(1, step[0]), "a step of {0}", {step[0]});
  b.Require(And(LessEqual(1, frame), LessEqual(frame, b.dim(signal, 1))),
            "frames of {0} in a signal of {1} elements", {frame, b.dim(signal, 1)});
  if (b.failed()) return;
  Dim frames = Max(FloorDiv(b.dim(signal, 1) - frame, Max(step[0], 1)) + Dim(1), 0);
  Complex parts = PartsOf(c, signal);
  ValueId start = b.Mul(b.Iota(DType::kI64, {frames, frame}, 0), b.DimScalar(step[0]));
  ValueId places = b.Add(start, b.Iota(DType::kI64, {frames, frame}, 1));
  auto cut = [&](ValueId part) {
    ValueId pieces = b.Gather(part, places, 1);  // [batch, frames, frame]
    return c.has(2) ? b.Mul(pieces, c.in(2)) : pieces;
  };
  if (b.failed()) return;
  Complex pieces{cut(parts.real), parts.imaginary.valid() ? cut(parts.imaginary) : ValueId()};
  bool onesided = c.Int("onesided", 1) != 0;
  Dim columns = onesided ? FloorDiv(frame, 2) + Dim(1) : frame;
  c.Out(0, Joined(b, Rotate(b, pieces, RotationMatrix(b, frame, columns, frame, dtype), false)));
}

// Number of bins, length of the transform, sample rate, lowest and highest frequency. A bin's weights rise
// from its lower edge to its center and fall to its higher edge, which are evenly spaced in mel and whole
// numbers.
void MelWeightMatrix(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dim bins = ReadScalar(c, 0, 1), length = ReadScalar(c, 1, 1);
  b.Require(And(LessEqual(1, bins), LessEqual(1, length)), "{0} bins over a transform of {1} elements",
            {bins, length});
  auto dtype = DTypeFromOnnx(static_cast<int32_t>(c.Int("output_datatype", 1)));
  if (b.failed()) return;
  auto k = [&](double value) { return b.Scalar(DType::kF64, value); };
  auto number = [&](size_t input) { return b.Cast(b.Reshape(c.in(input), {}), DType::kF64); };
  auto mel = [&](ValueId hertz) {
    ValueId logarithm = b.Unary(ExprOp::kLog1p, b.Div(hertz, k(700)));
    return b.Mul(b.Div(logarithm, k(kLog10)), k(2595));
  };
  ValueId low = mel(number(3));
  Dim rows = FloorDiv(length, 2) + Dim(1);
  for (size_t i : {size_t{3}, size_t{4}}) {
    ValueId row = b.Div(b.Mul(b.Add(number(1), k(1)), number(i)), number(2));
    ValueId is_row = b.Binary(ExprOp::kLess, row, b.Cast(b.DimScalar(rows), DType::kF64));
    RequireAll(b, b.Binary(ExprOp::kAnd, IsWithin(b, row, 0, 0x1p62), is_row),
               fmt::format("the input {} is a frequency that the transform does not have", i));
  }
  ValueId step = b.Div(b.Sub(mel(number(4)), low), b.Add(number(0), k(2)));
  Dims plane{rows, Max(bins, 0)};
  ValueId bin = b.Cast(b.Iota(DType::kI64, plane, 1), DType::kF64);
  auto edge = [&](double which) {
    ValueId place = b.Add(b.Mul(b.Add(bin, k(which)), step), low);
    ValueId power = b.Unary(ExprOp::kExpm1, b.Mul(b.Div(place, k(2595)), k(kLog10)));
    ValueId hertz = b.Mul(k(700), power);
    return b.Unary(ExprOp::kFloor, b.Div(b.Mul(b.Add(number(1), k(1)), hertz), number(2)));
  };
  ValueId lower = edge(0), center = edge(1), higher = edge(2);
  ValueId row = b.Cast(b.Iota(DType::kI64, plane, 0), DType::kF64);
  auto less = [&](ValueId x, ValueId y) { return b.Binary(ExprOp::kLess, x, y); };
  ValueId rising = b.Where(less(lower, center), b.Div(b.Sub(row, lower), b.Sub(center, lower)), k(1));
  ValueId falling = b.Div(b.Sub(higher, row), b.Sub(higher, center));
  ValueId outside = b.Binary(ExprOp::kOr, less(row, lower), less(center, row));
  ValueId is_falling = b.Binary(ExprOp::kAnd, b.Binary(ExprOp::kLessEqual, center, row), less(row, higher));
  c.Out(0, b.Cast(b.Where(is_falling, falling, b.Where(outside, k(0), rising)), dtype.value_or(DType::kF32)));
}

constexpr OnnxOp kRows[] = {
    {"", "DFT", 17, 19, 1, 2, "axis inverse onesided", Dft, kFloats},
    {"", "DFT", 20, kLatest, 1, 3, "inverse onesided", Dft, kFloats},
    {"", "STFT", 17, kLatest, 2, 4, "onesided", Stft, kFloats},
    {"", "MelWeightMatrix", 17, kLatest, 5, 5, "output_datatype", MelWeightMatrix, OfOutput(kNumbers)},
};

}  // namespace

std::span<const OnnxOp> OnnxSpectralRows() { return kRows; }

}  // namespace tvmvm::ir
