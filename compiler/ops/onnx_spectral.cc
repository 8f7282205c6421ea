// Fourier transforms as products with matrices of sines and cosines, and mel filters.
#include <fmt/core.h>

#include <cmath>

#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

constexpr double kPi = 3.14159265358979323846;

// Complex numbers as two tensors; no imaginary part stands for 0.
struct Complex {
  ValueId real;
  ValueId imaginary;
};

// cos and sin of 2 pi j k / length for j < rows and k < columns. The product is reduced before it becomes a
// float, so that long transforms keep their precision.
Complex Rotations(OpBuilder& b, const Dim& rows, const Dim& columns, const Dim& length, DType dtype) {
  Dims plane{rows, columns};
  ValueId product = b.Mul(b.Iota(DType::kI64, plane, 0), b.Iota(DType::kI64, plane, 1));
  ValueId period = b.DimScalar(Max(length, 1));
  ValueId turn =
      b.Div(b.Cast(b.Binary(ExprOp::kFloorMod, product, period), DType::kF64), b.Cast(period, DType::kF64));
  ValueId angle = b.Mul(turn, b.Scalar(DType::kF64, 2 * kPi));
  return {b.Cast(b.Unary(ExprOp::kCos, angle), dtype), b.Cast(b.Unary(ExprOp::kSin, angle), dtype)};
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
  auto part = [&](int at) { return b.Squeeze(b.SliceAxis(x, last, at, 1), {last}); };
  auto count = b.dim(x, last).constant();
  if (!count.has_value() || (*count != 1 && *count != 2)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the last axis has {} elements, 1 or 2 are wanted", b.dim(x, last).ToString()));
    return {x, x};
  }
  return {part(0), *count == 2 ? part(1) : ValueId()};
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

std::optional<int64_t> TransformAxis(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t axis = c.version < 20 ? c.Int("axis", 1) : -2;
  if (c.version >= 20 && c.has(2)) {
    auto known = b.ConstantInts(c.in(2));
    if (!known.has_value() || known->size() != 1) {
      b.Fail(Code::kUnsupported, "an axis that is not constant");
      return std::nullopt;
    }
    axis = (*known)[0];
  }
  return b.NormalizeAxis(axis, b.rank(c.in(0)));
}

void Dft(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  bool inverse = c.Int("inverse", 0) != 0;
  bool onesided = c.Int("onesided", 0) != 0;
  DType dtype = b.dtype(x);
  auto axis = TransformAxis(c);
  if (b.failed()) return;
  int rank = b.rank(x);
  if (*axis >= rank - 1) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("axis {} of rank {} holds the parts of the numbers", *axis, rank));
    return;
  }
  Dim given = b.dim(x, static_cast<int>(*axis));
  Dim length = inverse && onesided ? (given - Dim(1)) * Dim(2) : given;
  if (c.has(1)) {
    Dims read = b.ReadDims(b.Reshape(c.in(1), {}));
    if (b.failed()) return;
    length = read[0];
  }
  length = Max(length, 1);
  // The signal is cut or continued by zeros, which add nothing.
  Dim used = Min(given, inverse && onesided ? FloorDiv(length, 2) + Dim(1) : length);
  Complex parts = PartsOf(c, b.SliceAxis(x, static_cast<int>(*axis), 0, used));
  if (b.failed()) return;
  std::vector<int64_t> to_last, back;
  for (int64_t i = 0; i < rank - 1; ++i) {
    if (i != *axis) to_last.push_back(i);
  }
  to_last.push_back(*axis);
  for (int64_t i = 0; i < rank - 2; ++i) back.push_back(i);
  back.insert(back.begin() + *axis, rank - 2);
  parts.real = b.Transpose(parts.real, to_last);
  if (parts.imaginary.valid()) parts.imaginary = b.Transpose(parts.imaginary, to_last);
  ValueId scale = b.Div(b.Scalar(dtype, 1), b.Cast(b.DimScalar(length), dtype));
  if (inverse && onesided) {
    ValueId weights = b.Mul(MirrorWeights(b, used, length, dtype), scale);
    parts.real = b.Mul(parts.real, weights);
    if (parts.imaginary.valid()) parts.imaginary = b.Mul(parts.imaginary, weights);
    ValueId signal = Rotate(b, parts, Rotations(b, used, length, length, dtype), true).real;
    return c.Out(0, b.Unsqueeze(b.Transpose(signal, back), {rank - 1}));
  }
  Dim columns = onesided ? FloorDiv(length, 2) + Dim(1) : length;
  Complex result = Rotate(b, parts, Rotations(b, used, columns, length, dtype), inverse);
  if (inverse) result = {b.Mul(result.real, scale), b.Mul(result.imaginary, scale)};
  c.Out(0, Joined(b, {b.Transpose(result.real, back), b.Transpose(result.imaginary, back)}));
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
  if (b.rank(signal) == 2) signal = b.Unsqueeze(signal, {2});
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
  c.Out(0, Joined(b, Rotate(b, pieces, Rotations(b, frame, columns, frame, dtype), false)));
}

double MelOf(double hertz) { return 2595 * std::log10(1 + hertz / 700); }

// Number of bins, length of the transform, sample rate, lowest and highest frequency: all constants as a
// rule.
void MelWeightMatrix(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::optional<double> given[5];
  for (size_t i = 0; i < 5; ++i) {
    given[i] = b.ConstantScalar(c.in(i));
    if (given[i].has_value()) continue;
    b.Fail(Code::kUnsupported, fmt::format("input {} that is not constant", i));
    return;
  }
  for (const auto& number : given) {
    if (*number >= 0 && *number < 1e9) continue;
    b.Fail(Code::kInvalidArgument, fmt::format("the number {}", *number));
    return;
  }
  if (*given[2] < 1) {
    b.Fail(Code::kInvalidArgument, fmt::format("a sample rate of {}", *given[2]));
    return;
  }
  auto bins = static_cast<int64_t>(*given[0]);
  auto rows = static_cast<int64_t>(*given[1]) / 2 + 1;
  constexpr int64_t kLimit = int64_t{1} << 24;
  if (bins < 1 || rows < 1 || bins > kLimit || rows > kLimit / bins || *given[2] <= 0) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} bins over {} frequencies at a rate of {}", bins, rows, *given[2]));
    return;
  }
  double low = MelOf(*given[3]);
  double step = (MelOf(*given[4]) - low) / static_cast<double>(bins + 1);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor((*given[1] + 1) * hertz / *given[2])));
  }
  std::vector<float> weights(static_cast<size_t>(rows * bins), 0);
  auto at = [&](int64_t row, int64_t bin) -> float* {
    return row >= 0 && row < rows ? &weights[static_cast<size_t>(row * bins + bin)] : nullptr;
  };
  for (int64_t i = 0; i < bins; ++i) {
    int64_t lower = edges[static_cast<size_t>(i)], center = edges[static_cast<size_t>(i) + 1];
    int64_t higher = edges[static_cast<size_t>(i) + 2];
    if (center == lower && at(center, i) != nullptr) *at(center, i) = 1;
    for (int64_t j = std::max<int64_t>(lower, 0); center != lower && j <= std::min(center, rows - 1); ++j)
      *at(j, i) = static_cast<float>(static_cast<double>(j - lower) / static_cast<double>(center - lower));
    for (int64_t j = std::max<int64_t>(center, 0); higher > center && j < std::min(higher, rows); ++j)
      *at(j, i) = static_cast<float>(static_cast<double>(higher - j) / static_cast<double>(higher - center));
  }
  auto dtype = DTypeFromOnnx(static_cast<int32_t>(c.Int("output_datatype", 1)));
  ValueId matrix = b.Constant(TensorData::FromVector(DType::kF32, {rows, bins}, weights));
  c.Out(0, b.Cast(matrix, dtype.value_or(DType::kF32)));
}

constexpr OnnxOp kRows[] = {
    {"", "DFT", 17, 19, 1, 2, "axis inverse onesided", Dft},
    {"", "DFT", 20, kLatest, 1, 3, "inverse onesided", Dft},
    {"", "STFT", 17, kLatest, 2, 4, "onesided", Stft},
    {"", "MelWeightMatrix", 17, kLatest, 5, 5, "output_datatype", MelWeightMatrix},
};

}  // namespace

std::span<const OnnxOp> OnnxSpectralRows() { return kRows; }

}  // namespace tvmvm::ir
