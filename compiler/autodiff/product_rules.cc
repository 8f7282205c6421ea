// Gradients of sums of products: contractions, convolutions, and what is made of matrices.

#include <algorithm>
#include <numeric>

#include "compiler/autodiff/gradient_rule.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::autodiff {
namespace {

using Axes = std::vector<int64_t>;

Axes Range(int64_t begin, int64_t end) {
  Axes axes(static_cast<size_t>(std::max<int64_t>(end - begin, 0)));
  std::iota(axes.begin(), axes.end(), begin);
  return axes;
}

// ---- contractions ----

// One operand of a contraction and its axes; `contract` in the order of the pairs.
struct Side {
  ValueId value;
  Axes batch, contract, free;
  int64_t free_in_result = 0;  // where its free axes begin in the result
};

Side MakeSide(RuleContext& c, size_t input, const char* batch, const char* contract) {
  Side side{c.in(input), c.node.Ints(batch), c.node.Ints(contract), {}};
  for (int64_t axis = 0; axis < c.b.rank(side.value); ++axis)
    if (std::ranges::find(side.batch, axis) == side.batch.end() &&
        std::ranges::find(side.contract, axis) == side.contract.end())
      side.free.push_back(axis);
  return side;
}

// The gradient contracted with the other operand over the other's free axes, in the operand's order of axes.
ValueId OperandGradient(RuleContext& c, const Side& side, const Side& other) {
  OpBuilder& b = c.b;
  ValueId g = c.gradient();
  auto batch = static_cast<int64_t>(side.batch.size()), free = static_cast<int64_t>(side.free.size());
  Axes contracted =
      Range(other.free_in_result, other.free_in_result + static_cast<int64_t>(other.free.size()));
  ValueId product = b.Contract(g, b.Cast(other.value, b.dtype(g)), Range(0, batch), other.batch, contracted,
                               other.free, b.dtype(g));
  // Its axes: batch, the operand's free ones, the other's contracted ones in ascending order.
  Axes ascending = other.contract;
  std::sort(ascending.begin(), ascending.end());
  Axes perm(side.batch.size() + side.free.size() + side.contract.size());
  for (size_t i = 0; i < side.batch.size(); ++i)
    perm[static_cast<size_t>(side.batch[i])] = static_cast<int64_t>(i);
  for (size_t i = 0; i < side.free.size(); ++i)
    perm[static_cast<size_t>(side.free[i])] = batch + static_cast<int64_t>(i);
  for (size_t i = 0; i < side.contract.size(); ++i) {
    auto place = std::ranges::find(ascending, other.contract[i]) - ascending.begin();
    perm[static_cast<size_t>(side.contract[i])] = batch + free + place;
  }
  return b.Cast(b.Transpose(product, perm), b.dtype(side.value));
}

void Contract(RuleContext& c) {
  Side lhs = MakeSide(c, 0, "lhs_batch", "lhs_contract"), rhs = MakeSide(c, 1, "rhs_batch", "rhs_contract");
  lhs.free_in_result = static_cast<int64_t>(lhs.batch.size());
  rhs.free_in_result = lhs.free_in_result + static_cast<int64_t>(lhs.free.size());
  if (c.wants(0)) c.Add(0, OperandGradient(c, lhs, rhs));
  if (c.wants(1)) c.Add(1, OperandGradient(c, rhs, lhs));
}

// ---- convolutions ----

// What conv and conv_transpose have in common: `wide` is the side that the window slides over, `narrow` has
// one element for each of its places. weights[m, c, k...] joins narrow channel m with wide channel c of its
// group.
struct Sliding {
  OpBuilder& b;
  Axes strides, dilations;
  Dims low;
  int64_t groups;
  size_t spatial;

  explicit Sliding(RuleContext& c)
      : b(c.b),
        strides(c.node.Ints("strides")),
        dilations(c.node.Ints("dilations")),
        low(c.node.DimList("low")),
        groups(c.node.Int("groups", 1)),
        spatial(strides.size()) {}

  // `wide` padded such that windows of `window` elements, `apart` from each other's, by `step`, give `count`
  // places; what lies behind the last is cut off.
  ValueId PadFor(ValueId wide, const Dims& window, const Axes& apart, const Dims& count,
                 const Axes& step) const {
    if (b.failed()) return wide;
    const Dims dims = b.dims(wide);
    Dims before(2, Dim(0)), after = before;
    for (size_t i = 0; i < spatial; ++i) {
      before.push_back(low[i]);
      Dim reach = (count[i] - 1) * Dim(step[i]) + (window[i] - 1) * Dim(apart[i]) + 1;
      after.push_back(reach - dims[i + 2] - low[i]);
    }
    return b.Pad(wide, b.Scalar(b.dtype(wide), 0), before, after);
  }

  Dims SpatialDims(ValueId x) const {
    const Dims& dims = b.dims(x);
    return Dims(dims.begin() + 2, dims.end());
  }

  ValueId Convolve(ValueId x, ValueId w, const Axes& step, const Axes& apart) const {
    Dims none(spatial, Dim(0));
    return b.Emit(
        "conv", {x, w},
        {{"strides", step}, {"dilations", apart}, {"low", none}, {"high", none}, {"groups", groups}});
  }

  // The gradient of conv with respect to its data. Without strides it is a convolution itself, of which the
  // schedules are faster, with the weights turned round and their two sides swapped.
  ValueId Widen(ValueId narrow, ValueId weights, const Dims& dims) const {
    if (b.failed() || std::ranges::any_of(strides, [](int64_t stride) { return stride != 1; }))
      return b.Emit("conv_transpose", {narrow, weights},
                    {{"strides", strides},
                     {"dilations", dilations},
                     {"low", low},
                     {"dims", Dims(dims.begin() + 2, dims.end())},
                     {"groups", groups}});
    const Dims kernel = SpatialDims(weights), places = SpatialDims(narrow);
    Dims before(2, Dim(0)), after = before;
    for (size_t i = 0; i < spatial; ++i) {
      Dim reach = (kernel[i] - 1) * Dim(dilations[i]);
      before.push_back(reach - low[i]);
      after.push_back(dims[i + 2] + low[i] - places[i]);
    }
    ValueId padded = b.Pad(narrow, b.Scalar(b.dtype(narrow), 0), before, after);
    return Convolve(padded, Turned(weights), strides, dilations);
  }

  // [M, C/groups, k...] as [C, M/groups, k...], each k counted from the end.
  ValueId Turned(ValueId weights) const {
    const Dims dims = b.dims(weights), kernel = SpatialDims(weights);
    Dims apart = dims, starts(2, Dim(0)), steps(2, Dim(1)), joined = dims;
    apart[0] = groups;
    apart.insert(apart.begin() + 1, FloorDiv(dims[0], Dim(groups)));
    joined[0] = dims[1] * Dim(groups);
    joined[1] = apart[1];
    for (const Dim& size : kernel) {
      starts.push_back(size - 1);
      steps.emplace_back(-1);
    }
    Axes perm = Range(3, 3 + static_cast<int64_t>(spatial));
    perm.insert(perm.begin(), {0, 2, 1});
    ValueId turned = b.Slice(weights, starts, steps, dims);
    return b.Reshape(b.Transpose(b.Reshape(turned, apart), perm), joined);
  }

  // The gradient of conv_transpose with respect to its data.
  ValueId Narrow(ValueId wide, ValueId weights, const Dims& dims) const {
    Dims count(dims.begin() + 2, dims.end());
    ValueId padded = PadFor(wide, SpatialDims(weights), dilations, count, strides);
    return Convolve(padded, weights, strides, dilations);
  }

  // The gradient with respect to the weights: a convolution of the wide side with the narrow one over the
  // entries of the batch, which take the channels' place.
  ValueId Weights(ValueId wide, ValueId narrow, const Dims& dims) const {
    if (b.failed()) return wide;
    Dims count(dims.begin() + 2, dims.end()), window = SpatialDims(narrow);
    ValueId padded = PadFor(wide, window, strides, count, dilations);
    if (b.failed()) return wide;
    Dims apart = b.dims(padded);
    const Dim batch = apart[0], channels = dims[1];
    apart[1] = groups;
    apart.insert(apart.begin() + 2, channels);
    auto rank = static_cast<int64_t>(spatial);
    Axes perm = Range(3, 3 + rank);
    perm.insert(perm.begin(), {2, 1, 0});
    ValueId data = b.Transpose(b.Reshape(padded, apart), perm);
    if (b.failed()) return wide;
    Dims joined = b.dims(padded);
    joined[0] = channels;
    joined[1] = batch * Dim(groups);
    Axes swapped = Range(2, 2 + rank);
    swapped.insert(swapped.begin(), {1, 0});
    ValueId sums = Convolve(b.Reshape(data, joined), b.Transpose(narrow, swapped), dilations, strides);
    return b.Transpose(sums, swapped);
  }
};

void Convolution(RuleContext& c) {
  if (c.node.LayoutOf("layout") == ir::Layout::kChannelsLast) return c.Unsupported("of channels_last data");
  OpBuilder& b = c.b;
  Sliding s(c);
  DType dtype = b.dtype(c.out());
  ValueId x = b.Cast(c.in(0), dtype), w = b.Cast(c.in(1), dtype);
  const Dims x_dims = b.dims(x), w_dims = b.dims(w);
  if (c.wants(0)) c.Add(0, b.Cast(s.Widen(c.gradient(), w, x_dims), b.dtype(c.in(0))));
  if (c.wants(1)) c.Add(1, b.Cast(s.Weights(x, c.gradient(), w_dims), b.dtype(c.in(1))));
}

void TransposedConvolution(RuleContext& c) {
  OpBuilder& b = c.b;
  Sliding s(c);
  DType dtype = b.dtype(c.out());
  ValueId x = b.Cast(c.in(0), dtype), w = b.Cast(c.in(1), dtype);
  const Dims x_dims = b.dims(x), w_dims = b.dims(w);
  if (c.wants(0)) c.Add(0, b.Cast(s.Narrow(c.gradient(), w, x_dims), b.dtype(c.in(0))));
  if (c.wants(1)) c.Add(1, b.Cast(s.Weights(c.gradient(), x, w_dims), b.dtype(c.in(1))));
}

// ---- matrices ----

ValueId Transposed(OpBuilder& b, ValueId matrices) {
  Axes perm = Range(0, b.rank(matrices));
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return b.Transpose(matrices, perm);
}

void Inverse(RuleContext& c) {
  ValueId transposed = Transposed(c.b, c.out());
  ValueId product = c.b.MatMul(c.b.MatMul(transposed, c.gradient()), transposed);
  c.Add(0, c.b.Unary(tensor::ExprOp::kNegate, product));
}

// Of regular matrices; that of a singular one is not finite.
void Determinant(RuleContext& c) {
  OpBuilder& b = c.b;
  int64_t rank = b.rank(c.out());
  ValueId factor = b.Unsqueeze(b.Mul(c.gradient(), c.out()), {rank, rank + 1});
  c.Add(0, b.Mul(factor, Transposed(b, b.Emit("inverse", {c.in(0)}))));
}

constexpr GradientRule kRules[] = {
    {"contract", Contract}, {"conv", Convolution},        {"conv_transpose", TransposedConvolution},
    {"inverse", Inverse},   {"determinant", Determinant},
};

}  // namespace

std::span<const GradientRule> ProductRules() { return kRules; }

}  // namespace tvmvm::autodiff
