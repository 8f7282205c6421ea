// Normalization over batches, channels, groups and trailing axes.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_window.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;
using Axes = std::vector<int64_t>;

Axes AxesFrom(int first, int rank) {
  Axes axes(static_cast<size_t>(std::max(rank - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

ValueId MeanOver(OpBuilder& b, ValueId x, const Axes& axes) {
  Dim count = 1;
  for (int64_t axis : axes) count = count * b.dim(x, static_cast<int>(axis));
  return b.Div(b.Reduce(ReduceKind::kSum, x, axes), b.Cast(b.DimScalar(count), b.dtype(x)));
}

ValueId InverseRoot(OpBuilder& b, ValueId variance, double epsilon) {
  DType dtype = b.dtype(variance);
  return b.Div(b.Scalar(dtype, 1), b.Unary(ExprOp::kSqrt, b.Add(variance, b.Scalar(dtype, epsilon))));
}

struct Standardized {
  ValueId value;
  ValueId mean;
  ValueId inverse_deviation;
};

Standardized Standardize(OpBuilder& b, ValueId x, const Axes& axes, double epsilon) {
  ValueId mean = MeanOver(b, x, axes);
  ValueId centered = b.Sub(x, mean);
  ValueId inverse = InverseRoot(b, MeanOver(b, b.Mul(centered, centered), axes), epsilon);
  return {b.Mul(centered, inverse), mean, inverse};
}

// Until opset 13 whoever wanted statistics trained.
bool TrainsBatchNormalization(OnnxContext& c) {
  if (c.version >= 14) return c.Int("training_mode", 0) != 0;
  bool wants_statistics = c.wants(1) || c.wants(2) || c.wants(3) || c.wants(4);
  return wants_statistics && c.Int("is_test", 0) == 0;
}

// Training: statistics of the batch, and running ones that move towards them.
void BatchTraining(OnnxContext& c, double epsilon) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  bool spatial = c.Int("spatial", 1) != 0;
  Axes axes = spatial ? AxesFrom(2, rank) : Axes();
  axes.insert(axes.begin(), 0);
  // Squares of 16-bit floats overflow: everything is computed in 32 bits.
  const DType dtype = b.dtype(c.in(0)), wide = DTypeBits(dtype) < 32 ? DType::kF32 : dtype;
  auto parameter = [&](size_t input) {
    return b.Cast(spatial ? PerChannel(b, c.in(input), rank) : c.in(input), wide);
  };
  ValueId x = b.Cast(c.in(0), wide);
  ValueId mean = MeanOver(b, x, axes);
  ValueId centered = b.Sub(x, mean);
  ValueId variance = MeanOver(b, b.Mul(centered, centered), axes);
  ValueId scaled = b.Mul(b.Mul(centered, InverseRoot(b, variance, epsilon)), parameter(1));
  c.Out(0, b.Cast(b.Add(scaled, parameter(2)), dtype));
  double momentum = c.Float("momentum", 0.9);
  auto saved = [&](size_t input, ValueId batch) {
    return b.Cast(b.Reshape(batch, b.dims(c.in(input))), b.dtype(c.in(input)));
  };
  auto running = [&](size_t input, ValueId batch) {
    const DType given = b.dtype(c.in(input)), type = DTypeBits(given) > DTypeBits(wide) ? given : wide;
    const ValueId before = b.Cast(c.in(input), type),
                  now = b.Cast(b.Reshape(batch, b.dims(c.in(input))), type);
    return b.Cast(b.Add(b.Mul(before, b.Scalar(type, momentum)), b.Mul(now, b.Scalar(type, 1 - momentum))),
                  given);
  };
  if (c.wants(1)) c.Out(1, running(3, mean));
  if (c.wants(2)) c.Out(2, running(4, variance));
  if (c.wants(3)) c.Out(3, saved(3, mean));
  if (c.wants(4)) c.Out(4, saved(4, variance));
}

// Parameters of one element a channel, or (opset 1 to 8 with spatial = 0) one an element of a batch entry.
void BatchNormalization(OnnxContext& c) {
  OpBuilder& b = c.b;
  double epsilon = c.Float("epsilon", 1e-5);
  int rank = b.rank(c.in(0));
  if (TrainsBatchNormalization(c)) return BatchTraining(c, epsilon);
  bool spatial = c.Int("spatial", 1) != 0;
  auto parameter = [&](size_t input) { return spatial ? PerChannel(b, c.in(input), rank) : c.in(input); };
  DType wide = WideType(b.dtype(c.in(4)));
  // scale / sqrt(variance + epsilon) and what is left of the bias: small tensors, constant as a rule.
  ValueId factor = b.Mul(b.Cast(parameter(1), wide), InverseRoot(b, b.Cast(parameter(4), wide), epsilon));
  ValueId offset = b.Sub(b.Cast(parameter(2), wide), b.Mul(b.Cast(parameter(3), wide), factor));
  DType dtype = b.dtype(c.in(0));
  DType computed = DTypeBits(dtype) < 32 ? wide : dtype;
  ValueId result =
      b.Add(b.Mul(b.Cast(c.in(0), computed), b.Cast(factor, computed)), b.Cast(offset, computed));
  c.Out(0, b.Cast(result, dtype));
}

void InstanceNormalization(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  DType dtype = b.dtype(c.in(0));
  DType wide = WideType(dtype);
  Standardized s = Standardize(b, b.Cast(c.in(0), wide), AxesFrom(2, rank), c.Float("epsilon", 1e-5));
  ValueId scaled = b.Mul(s.value, PerChannel(b, b.Cast(c.in(1), wide), rank));
  c.Out(0, b.Cast(b.Add(scaled, PerChannel(b, b.Cast(c.in(2), wide), rank)), dtype));
}

// 0 is no type; ONNX Runtime takes it as f32.
DType StashType(OnnxContext& c) {
  if (c.Int("stash_type", 1) == 0) return DType::kF32;
  auto dtype = DTypeFromOnnx(static_cast<int32_t>(c.Int("stash_type", 1)));
  if (dtype.has_value() && IsFloat(*dtype)) return *dtype;
  c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'stash_type' is {}", c.Int("stash_type", 1)));
  return DType::kF32;
}

void LayerNormalization(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  int axis = b.NormalizeAxis(c.Int("axis", -1), rank);
  DType dtype = b.dtype(c.in(0));
  DType stash = StashType(c);
  DType wide = dtype == DType::kF64 ? DType::kF64 : stash;
  if (b.failed()) return;
  Standardized s = Standardize(b, b.Cast(c.in(0), wide), AxesFrom(axis, rank), c.Float("epsilon", 1e-5));
  ValueId result = b.Mul(b.Cast(s.value, dtype), c.in(1));
  if (c.has(2)) result = b.Add(result, c.in(2));
  c.Out(0, result);
  c.Out(1, b.Cast(s.mean, stash));
  c.Out(2, b.Cast(s.inverse_deviation, stash));
}

void RmsNormalization(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  int axis = b.NormalizeAxis(c.Int("axis", -1), rank);
  DType dtype = b.dtype(c.in(0));
  DType wide = dtype == DType::kF64 ? DType::kF64 : StashType(c);
  if (b.failed()) return;
  ValueId x = b.Cast(c.in(0), wide);
  ValueId inverse = InverseRoot(b, MeanOver(b, b.Mul(x, x), AxesFrom(axis, rank)), c.Float("epsilon", 1e-5));
  ValueId scaled = b.Cast(b.Mul(x, inverse), dtype);
  c.Out(0, b.Cast(b.Mul(b.Cast(scaled, b.dtype(c.in(1))), c.in(1)), b.dtype(c.in(1))));
  c.Out(1, inverse);
}

// Scale and bias are one a group until opset 20 and one a channel afterwards.
void GroupNormalization(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  Dims dims = b.dims(x);
  auto rank = static_cast<int>(dims.size());
  int64_t groups = c.Int("num_groups", 0);
  if (groups < 1 || rank < 2) {
    b.Fail(Code::kInvalidArgument, fmt::format("{} groups for data of rank {}", groups, rank));
    return;
  }
  DType dtype = b.dtype(x);
  DType wide = c.version >= 21 ? StashType(c) : WideType(dtype);
  if (dtype == DType::kF64) wide = dtype;
  Dims grouped = dims;
  grouped[1] = FloorDiv(dims[1], groups);
  grouped.insert(grouped.begin() + 1, Dim(groups));
  ValueId apart = b.Reshape(b.Cast(x, wide), grouped);
  ValueId normal =
      b.Cast(Standardize(b, apart, AxesFrom(2, rank + 1), c.Float("epsilon", 1e-5)).value, dtype);
  if (c.version < 21) {
    ValueId scaled = b.Mul(normal, PerChannel(b, c.in(1), rank + 1));
    return c.Out(0, b.Reshape(b.Add(scaled, PerChannel(b, c.in(2), rank + 1)), dims));
  }
  ValueId scaled = b.Mul(b.Reshape(normal, dims), PerChannel(b, c.in(1), rank));
  c.Out(0, b.Add(scaled, PerChannel(b, c.in(2), rank)));
}

// Local response: each element over the squares of its neighbours along the channels.
// A number that is not negative to a power: quarters by square roots.
ValueId PowerOf(OpBuilder& b, ValueId base, double exponent) {
  auto root = [&](ValueId a) { return b.Unary(ExprOp::kSqrt, a); };
  if (exponent == 1) return base;
  if (exponent == 0.5) return root(base);
  if (exponent == 0.75) {
    ValueId half = root(base);
    return b.Mul(half, root(half));
  }
  return b.Binary(ExprOp::kPow, base, b.Scalar(b.dtype(base), exponent));
}

// Sums of x over the channels from `low` before each one to `high` behind it, by a matrix that says which:
// for windows so long that to walk along them takes longer.
ValueId SumOfManyChannels(OpBuilder& b, ValueId x, int64_t low, int64_t high) {
  const Dims dims = b.dims(x);
  const Dim& channels = dims[1];
  ValueId from = b.Iota(DType::kI64, {channels, channels}, 0),
          to = b.Iota(DType::kI64, {channels, channels}, 1);
  ValueId apart = b.Sub(from, to);
  auto at_most = [&](int64_t limit) {
    return b.Binary(ExprOp::kLessEqual, apart, b.ScalarInt(DType::kI64, limit));
  };
  ValueId is_behind = b.Binary(ExprOp::kLessEqual, b.ScalarInt(DType::kI64, -high), apart);
  ValueId band = b.Cast(b.Binary(ExprOp::kAnd, at_most(low), is_behind), b.dtype(x));
  ValueId flat = b.Reshape(x, {dims[0], channels, Product(Dims(dims.begin() + 2, dims.end()))});
  ValueId sums = b.Contract(flat, band, {}, {}, {1}, {1});
  return b.Reshape(b.Transpose(sums, {0, 2, 1}), dims);
}

void Lrn(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType narrow = b.dtype(c.in(0)), dtype = WideType(narrow);
  ValueId x = b.Cast(c.in(0), dtype);
  auto rank = static_cast<size_t>(b.rank(x));
  int64_t size = c.Int("size", 0);
  if (rank < 2 || size < 1) {
    b.Fail(Code::kInvalidArgument, fmt::format("size {} for data of rank {}", size, rank));
    return;
  }
  std::vector<int64_t> ones(rank, 1);
  // A window that covers all channels from each of them takes no more than twice as many.
  int64_t reach = size - 1;
  if (auto channels = b.dim(x, 1).constant()) reach = std::min(reach, 2 * std::max<int64_t>(*channels, 1));
  std::vector<int64_t> kernel = ones;
  kernel[1] = reach + 1;
  Dims low(rank, Dim(0));
  Dims high(rank, Dim(0));
  low[1] = reach / 2;
  high[1] = reach - reach / 2;
  constexpr int64_t kManyChannels = 1024;
  const bool is_long = reach >= kManyChannels && !b.dim(x, 1).is_constant();
  ValueId squares = b.Mul(x, x);
  ValueId sum = is_long ? SumOfManyChannels(b, squares, reach / 2, reach - reach / 2)
                        : b.Emit("window", {squares},
                                 {{"kind", std::string("sum")},
                                  {"kernel", kernel},
                                  {"strides", ones},
                                  {"dilations", ones},
                                  {"low", low},
                                  {"high", high},
                                  {"dims", b.dims(x)}});
  const double alpha = c.Float("alpha", 1e-4) / static_cast<double>(size), bias = c.Float("bias", 1);
  const double beta = c.Float("beta", 0.75);
  ValueId base = b.Add(b.Scalar(dtype, bias), b.Mul(b.Scalar(dtype, alpha), sum));
  const bool is_positive = alpha >= 0 && bias >= 0;
  ValueId power = is_positive ? PowerOf(b, base, beta) : b.Binary(ExprOp::kPow, base, b.Scalar(dtype, beta));
  c.Out(0, b.Cast(b.Div(x, power), narrow));
}

void LpNormalization(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(c.in(0)), wide = WideType(dtype);
  ValueId x = b.Cast(c.in(0), wide);
  int axis = b.NormalizeAxis(c.Int("axis", -1), b.rank(x));
  int64_t p = c.Int("p", 2);
  if (b.failed()) return;
  if (p != 1 && p != 2) {
    b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'p' is {}, 1 or 2 is wanted", p));
    return;
  }
  ValueId norm = b.Reduce(ReduceKind::kSum, p == 1 ? b.Unary(ExprOp::kAbs, x) : b.Mul(x, x), {axis});
  if (p == 2) norm = b.Unary(ExprOp::kSqrt, norm);
  // A norm of 0 leaves the zeros.
  ValueId zero = b.Scalar(wide, 0);
  ValueId divisor = b.Where(b.Binary(ExprOp::kEqual, norm, zero), b.Scalar(wide, 1), norm);
  c.Out(0, b.Cast(b.Div(x, divisor), dtype));
}

void MeanVarianceNormalization(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(c.in(0)), wide = WideType(dtype);
  ValueId x = b.Cast(c.in(0), wide);
  Axes axes = c.Ints("axes", {0, 2, 3});
  if (c.version < 9) axes = c.Int("across_channels", 0) != 0 ? Axes{0, 1, 2, 3} : Axes{0, 2, 3};
  // The axes are those of images: other data does not have them all.
  std::erase_if(axes, [&](int64_t axis) { return axis >= b.rank(x); });
  for (int64_t& axis : axes) axis = b.NormalizeAxis(axis, b.rank(x));
  if (axes.empty())
    b.Fail(Code::kInvalidArgument, fmt::format("data of rank {} has none of the axes", b.rank(x)));
  if (b.failed()) return;
  ValueId centered = b.Sub(x, MeanOver(b, x, axes));
  if (c.version < 9 && c.Int("normalize_variance", 1) == 0) return c.Out(0, b.Cast(centered, dtype));
  ValueId deviation = b.Unary(ExprOp::kSqrt, MeanOver(b, b.Mul(centered, centered), axes));
  c.Out(0, b.Cast(b.Div(centered, b.Add(deviation, b.Scalar(wide, 1e-9))), dtype));
}

constexpr OnnxOp kRows[] = {
    {"", "BatchNormalization", 1, 8, 5, 5, "epsilon is_test momentum spatial", BatchNormalization, kFloats},
    {"", "BatchNormalization", 9, kLatest, 5, 5, "epsilon momentum training_mode", BatchNormalization,
     kFloats},
    {"", "InstanceNormalization", 1, kLatest, 3, 3, "epsilon", InstanceNormalization, kFloats},
    {"", "LayerNormalization", 1, kLatest, 2, 3, "axis epsilon stash_type", LayerNormalization, kFloats},
    {"", "SimplifiedLayerNormalization", 1, kLatest, 2, 2, "axis epsilon stash_type", RmsNormalization,
     kFloats},
    {"", "RMSNormalization", 23, kLatest, 2, 2, "axis epsilon stash_type", RmsNormalization, kFloats},
    {"", "GroupNormalization", 18, kLatest, 3, 3, "epsilon num_groups stash_type", GroupNormalization,
     kFloats},
    {"", "LRN", 1, kLatest, 1, 1, "alpha beta bias size", Lrn, kFloats},
    {"", "LpNormalization", 1, kLatest, 1, 1, "axis p", LpNormalization, kFloats},
    {"", "MeanVarianceNormalization", 1, 8, 1, 1, "across_channels normalize_variance",
     MeanVarianceNormalization, kFloats},
    {"", "MeanVarianceNormalization", 9, kLatest, 1, 1, "axes", MeanVarianceNormalization, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxNormalizationRows() { return kRows; }

}  // namespace tvmvm::ir
