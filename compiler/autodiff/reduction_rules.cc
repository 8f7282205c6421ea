// Gradients of reductions over axes, of running sums and of sliding windows.

#include <numeric>
#include <string>

#include "compiler/autodiff/gradient_rule.h"
#include "compiler/expr/expr.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::autodiff {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

// x, of size 1 along the reduced axes, repeated along them.
ValueId RepeatOver(RuleContext& c, ValueId x) {
  OpBuilder& b = c.b;
  const Dims dims = b.dims(c.in(0));
  if (b.failed() || b.dims(x) == dims) return x;
  return b.Emit("expand", {x}, {{"dims", dims}});
}

void SumOver(RuleContext& c) { c.Add(0, RepeatOver(c, c.gradient())); }

// Elements that are equal to the extremum share the gradient.
void ExtremumOver(RuleContext& c) {
  OpBuilder& b = c.b;
  ValueId wins = b.Binary(ExprOp::kEqual, c.in(0), RepeatOver(c, c.out()));
  ValueId shares = b.Cast(wins, b.dtype(c.in(0)));
  ValueId count = b.ReduceFlags(ReduceKind::kSum, shares, c.node.DimList("flags"));
  c.Add(0, b.Mul(shares, RepeatOver(c, b.Div(c.gradient(), count))));
}

// The slope at an element is the product of all others. It is computed as such, for every element: dividing
// the product by the element would lose zeros.
void ProductOver(RuleContext& c) {
  OpBuilder& b = c.b;
  const Dims& flags = c.node.DimList("flags");
  const Dims dims = b.dims(c.in(0));
  std::vector<int64_t> perm, inverse(dims.size());
  Dim kept = 1, reduced = 1;
  for (int64_t wanted : {0, 1}) {
    for (size_t axis = 0; axis < flags.size(); ++axis) {
      if (!flags[axis].is_constant())
        return c.Unsupported("of kind 'product' over axes known only at run time");
      if (flags[axis].value() != wanted) continue;
      inverse[axis] = static_cast<int64_t>(perm.size());
      perm.push_back(static_cast<int64_t>(axis));
      (wanted != 0 ? reduced : kept) = (wanted != 0 ? reduced : kept) * dims[axis];
    }
  }
  ValueId moved = b.Transpose(c.in(0), perm);
  if (b.failed()) return;
  const Dims moved_dims = b.dims(moved);
  ValueId others = b.Expand(b.Reshape(moved, {kept, 1, reduced}), {kept, reduced, reduced});
  ValueId itself =
      b.Binary(ExprOp::kEqual, b.Iota(DType::kI64, {reduced, 1}, 0), b.Iota(DType::kI64, {1, reduced}, 1));
  ValueId slopes = b.Reduce(ReduceKind::kProduct, b.Where(itself, c.Constant(1), others), {2});
  slopes = b.Transpose(b.Reshape(slopes, moved_dims), inverse);
  c.Add(0, b.Mul(slopes, RepeatOver(c, c.gradient())));
}

void Reduce(RuleContext& c) {
  const std::string& kind = c.node.String("kind");
  if (kind == "sum") return SumOver(c);
  if (kind == "min" || kind == "max") return ExtremumOver(c);
  if (kind == "product") return ProductOver(c);
  c.Unsupported("of kind '" + kind + "'");
}

// A running sum seen from an element: the sum of what comes after it.
void Scan(RuleContext& c) {
  if (c.node.String("kind") != "sum") return c.Unsupported("of kind '" + c.node.String("kind") + "'");
  ir::Attributes attributes = c.node.attributes;
  attributes["reverse"] = int64_t{c.node.Int("reverse") == 0};
  c.Add(0, c.b.Emit("scan", {c.gradient()}, std::move(attributes)));
}

// ---- windows ----

// x with step - 1 zeros behind each element of each axis.
ValueId Spread(OpBuilder& b, ValueId x, const std::vector<int64_t>& steps) {
  for (size_t axis = 0; axis < steps.size(); ++axis) {
    if (b.failed() || steps[axis] == 1) continue;
    Dims spread = b.dims(x);
    spread[axis] = spread[axis] * Dim(steps[axis]);
    ValueId apart = b.Unsqueeze(x, {static_cast<int64_t>(axis) + 1});
    Dims none(spread.size() + 1, Dim(0)), high = none;
    high[axis + 1] = steps[axis] - 1;
    x = b.Reshape(b.Pad(apart, b.Scalar(b.dtype(x), 0), none, high), spread);
  }
  return x;
}

// The sum over windows, seen from an element: the sum over the windows that see it.
ValueId SumOfWindows(RuleContext& c, ValueId gradient) {
  OpBuilder& b = c.b;
  const std::vector<int64_t>&kernel = c.node.Ints("kernel"), &strides = c.node.Ints("strides"),
        &dilations = c.node.Ints("dilations");
  const Dims dims = b.dims(c.in(0));
  ValueId spread = Spread(b, gradient, strides);
  if (b.failed()) return spread;
  Dims low, high, none(dims.size(), Dim(0));
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    Dim reach = (kernel[axis] - 1) * dilations[axis];
    low.push_back(reach - c.node.DimList("low")[axis]);
    high.push_back(dims[axis] + reach - low.back() - b.dims(spread)[axis]);
  }
  return b.Emit("window", {b.Pad(spread, c.Constant(0), low, high)},
                {{"kind", std::string("sum")},
                 {"kernel", kernel},
                 {"strides", std::vector<int64_t>(dims.size(), 1)},
                 {"dilations", dilations},
                 {"low", none},
                 {"high", none},
                 {"dims", dims}});
}

// How many elements each average is over.
ValueId Counts(RuleContext& c) {
  OpBuilder& b = c.b;
  ir::Attributes attributes = c.node.attributes;
  attributes["kind"] = std::string("sum");
  attributes.erase("include_padding");
  ValueId ones = b.Expand(c.Constant(1), b.dims(c.in(0)));
  if (c.node.Int("include_padding") != 0) {
    const Dims none(b.dims(c.in(0)).size(), Dim(0));
    ones = b.Pad(ones, c.Constant(1), c.node.DimList("low"), c.node.DimList("high"));
    attributes["low"] = attributes["high"] = none;
  }
  return b.Emit("window", {ones}, std::move(attributes));
}

// The first extremum of a window takes the gradient.
void ExtremumOfWindows(RuleContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.node.String("kind") == "max" ? c.in(0) : b.Unary(ExprOp::kNegate, c.in(0));
  ir::Attributes attributes = c.node.attributes;
  attributes["kind"] = std::string("argmax");
  ValueId winners = b.Emit("window", {x}, std::move(attributes));
  if (b.failed()) return;
  Dim count = Product(b.dims(winners)), total = Product(b.dims(c.in(0)));
  ValueId sums = b.Emit(
      "scatter_nd",
      {Zeros(b, b.dtype(x), {total}), b.Reshape(winners, {count, 1}), b.Reshape(c.gradient(), {count})},
      {{"reduction", std::string("add")}});
  c.Add(0, b.Reshape(sums, b.dims(c.in(0))));
}

void Window(RuleContext& c) {
  const std::string& kind = c.node.String("kind");
  if (kind == "sum") return c.Add(0, SumOfWindows(c, c.gradient()));
  if (kind == "average") return c.Add(0, SumOfWindows(c, c.b.Div(c.gradient(), Counts(c))));
  if (kind == "max" || kind == "min") return ExtremumOfWindows(c);
  c.Unsupported("of kind '" + kind + "'");
}

// Windows of what was added up, cut out again: a convolution whose channels are the elements of a window,
// each with weights that take this element alone.
void Fold(RuleContext& c) {
  OpBuilder& b = c.b;
  const std::vector<int64_t>&strides = c.node.Ints("strides"), &dilations = c.node.Ints("dilations");
  const size_t count = strides.size();
  const Dims dims = b.dims(c.in(0)), folded = b.dims(c.out());
  std::vector<int64_t> perm{0};
  Dims image{dims[0], 1}, low(2, Dim(0)), high = low, weight_dims{1, 1};
  Dim elements = 1;
  for (size_t i = 0; i < count; ++i) {
    perm.insert(perm.end(), {static_cast<int64_t>(1 + count + i), static_cast<int64_t>(1 + i)});
    image.push_back(folded[1 + i] * folded[1 + count + i]);
    const Dim reach = (dims[1 + count + i] - 1) * Dim(strides[i]) + (dims[1 + i] - 1) * Dim(dilations[i]) + 1;
    low.push_back(c.node.DimList("first")[i] * Dim(strides[i]));
    high.push_back(reach - image.back() - low.back());
    elements = elements * dims[1 + i];
    weight_dims.push_back(dims[1 + i]);
  }
  weight_dims[0] = elements;
  ValueId itself =
      b.Binary(ExprOp::kEqual, b.Iota(DType::kI64, {elements, 1}, 0), b.Iota(DType::kI64, {1, elements}, 1));
  ValueId weights = b.Reshape(b.Cast(itself, b.dtype(c.in(0))), weight_dims);
  ValueId positions = b.Reshape(b.Transpose(c.gradient(), perm), image);
  const Dims none(count, Dim(0));
  ValueId windows = b.Emit("conv", {b.Pad(positions, c.Constant(0), low, high), weights},
                           {{"strides", strides}, {"dilations", dilations}, {"low", none}, {"high", none}});
  c.Add(0, b.Reshape(windows, dims));
}

constexpr GradientRule kRules[] = {{"reduce", Reduce}, {"scan", Scan}, {"window", Window}, {"fold", Fold}};

}  // namespace

std::span<const GradientRule> ReductionRules() { return kRules; }

}  // namespace tvmvm::autodiff
