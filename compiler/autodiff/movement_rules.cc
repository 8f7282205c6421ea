// Gradients of movement: each element's gradient goes back to where the element came from.

#include <numeric>

#include "compiler/autodiff/gradient_rule.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::autodiff {
namespace {

void Transpose(RuleContext& c) {
  const std::vector<int64_t>& perm = c.node.Ints("perm");
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  c.Add(0, c.b.Transpose(c.gradient(), inverse));
}

void Expand(RuleContext& c) { c.AddBroadcast(0, c.gradient()); }

void Reshape(RuleContext& c) { c.Add(0, c.gradient()); }

void Concat(RuleContext& c) {
  auto axis = static_cast<int>(c.node.Int("axis"));
  Dim start = 0;
  for (size_t k = 0; k < c.node.inputs.size(); ++k) {
    Dim size = c.b.dim(c.in(k), axis);
    if (c.wants(k)) c.Add(k, c.b.SliceAxis(c.gradient(), axis, start, size));
    start = start + size;
  }
}

// ---- slices ----

// The values x[0], x[1], ... of an axis written to start, start + step, ... of one of `size` zeros.
ValueId PlaceAlong(OpBuilder& b, ValueId x, size_t axis, const Dim& start, const Dim& step, const Dim& size) {
  if (b.failed()) return x;
  const Dims dims = b.dims(x);
  if (step.IsConstant(1)) {
    Dims low(dims.size(), Dim(0)), high = low;
    low[axis] = start;
    high[axis] = size - start - dims[axis];
    return b.Pad(x, b.Scalar(b.dtype(x), 0), low, high);
  }
  // Slices along the axis go to positions along the first one.
  std::vector<int64_t> perm(dims.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[0], perm[axis]);
  Dims placed = dims;
  placed[axis] = size;
  std::swap(placed[0], placed[axis]);
  ValueId numbers = b.Iota(DType::kI64, {dims[axis], 1}, 0);
  ValueId positions = b.Add(b.Mul(numbers, b.DimScalar(step)), b.DimScalar(start));
  ValueId whole = b.Emit("scatter_nd", {Zeros(b, b.dtype(x), placed), positions, b.Transpose(x, perm)},
                         {{"reduction", std::string("none")}});
  return b.Transpose(whole, perm);
}

void Slice(RuleContext& c) {
  const Dims& starts = c.node.DimList("starts");
  const Dims& steps = c.node.DimList("steps");
  const Dims dims = c.b.dims(c.in(0));
  ValueId whole = c.gradient();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    bool is_whole =
        starts[axis].IsConstant(0) && steps[axis].IsConstant(1) && c.b.dim(c.out(), axis) == dims[axis];
    if (!is_whole) whole = PlaceAlong(c.b, whole, axis, starts[axis], steps[axis], dims[axis]);
  }
  c.Add(0, whole);
}

// ---- padding ----

Dims Negated(const Dims& dims) {
  Dims result;
  for (const Dim& dim : dims) result.push_back(Dim(0) - dim);
  return result;
}

void ConstantPad(RuleContext& c) {
  OpBuilder& b = c.b;
  const Dims& low = c.node.DimList("low");
  const Dims& high = c.node.DimList("high");
  if (c.wants(0)) c.Add(0, b.Pad(c.gradient(), c.Constant(0), Negated(low), Negated(high)));
  if (!c.wants(1)) return;
  ValueId padded = b.Pad(Zeros(b, b.dtype(c.out()), b.dims(c.in(0))), c.Constant(1), low, high);
  std::vector<int64_t> axes(low.size());
  std::iota(axes.begin(), axes.end(), 0);
  c.Add(1, b.Reduce(tensor::ReduceKind::kSum, b.Mul(c.gradient(), padded), axes));
}

// Padding that repeats elements: the same padding of positions tells which ones.
void RepeatingPad(RuleContext& c, const std::string& mode) {
  OpBuilder& b = c.b;
  const Dims dims = b.dims(c.in(0));
  ValueId sum = c.gradient();
  for (size_t axis = 0; axis < dims.size() && !b.failed(); ++axis) {
    Dim low = c.node.DimList("low")[axis], high = c.node.DimList("high")[axis];
    if (low.IsConstant(0) && high.IsConstant(0)) continue;
    ValueId sources = b.Pad(b.Iota(DType::kI64, {dims[axis]}, 0), {}, {low}, {high}, mode);
    std::vector<int64_t> perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[0], perm[axis]);
    Dims placed = b.dims(sum);
    placed[axis] = dims[axis];
    std::swap(placed[0], placed[axis]);
    sum = b.Emit("scatter_nd",
                 {Zeros(b, b.dtype(sum), placed), b.Unsqueeze(sources, {1}), b.Transpose(sum, perm)},
                 {{"reduction", std::string("add")}});
    sum = b.Transpose(sum, perm);
  }
  c.Add(0, sum);
}

void Pad(RuleContext& c) {
  const std::string& mode = c.node.String("mode");
  if (mode == "constant") return ConstantPad(c);
  RepeatingPad(c, mode);
}

constexpr GradientRule kRules[] = {
    {"transpose", Transpose}, {"expand", Expand}, {"reshape", Reshape},
    {"concat", Concat},       {"slice", Slice},   {"pad", Pad},
};

}  // namespace

std::span<const GradientRule> MovementRules() { return kRules; }

}  // namespace tvmvm::autodiff
