// Reductions over axes.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_axes.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

// The axes of one node: flags for all of them, and how many are set, where that is known.
struct ReducedAxes {
  Dims flags;
  std::optional<int> count;
  bool nothing =
      false;  // no axes given and noop_with_empty_axes: the reduction leaves each element by itself
};

// With keepdims 0 the number of axes gives the rank, so none may be listed twice where only running tells.
void CheckCount(OnnxContext& c, const ReducedAxes& axes) {
  if (c.Int("keepdims", 1) != 0 || !axes.count.has_value()) return;
  Dim found = CountOf(axes.flags);
  c.b.Require(Equal(found, *axes.count), fmt::format("{{0}} different ones among {} axes", *axes.count),
              {found});
}

ReducedAxes Axes(OnnxContext& c) {
  int rank = c.b.rank(c.in(0));
  ReducedAxes result;
  bool none_is_nothing = c.Int("noop_with_empty_axes", 0) != 0;
  if (IsListOfAnyLength(c, 1)) {
    result.flags = FlagsOfList(c, c.in(1), rank, none_is_nothing ? 0 : 1);
    return result;
  }
  auto axes = ReadAxes(c, 1);
  if (!axes.has_value() || axes->empty()) {
    result.nothing = none_is_nothing;
    result.flags.assign(static_cast<size_t>(rank), Dim(result.nothing ? 0 : 1));
    result.count = result.nothing ? 0 : rank;
    return result;
  }
  result.flags = AxisFlags(c, *axes, rank);
  auto known = ConstantFlags(result.flags);
  result.count = static_cast<int>(known.has_value() ? known->size() : axes->size());
  if (*result.count > rank && c.Int("keepdims", 1) == 0)
    c.b.Fail(Code::kInvalidArgument, fmt::format("{} axes, the input has {}", *result.count, rank));
  CheckCount(c, result);
  return result;
}

ValueId ReduceOver(OnnxContext& c, ReduceKind kind, ValueId x, const ReducedAxes& axes) {
  if (axes.nothing) return x;
  if (auto known = ConstantFlags(axes.flags)) return c.b.Reduce(kind, x, *known);
  return c.b.ReduceFlags(kind, x, axes.flags);
}

// Drops the reduced axes where keepdims is 0.
void Finish(OnnxContext& c, ValueId reduced, const ReducedAxes& axes) {
  if (c.b.failed()) return;
  if (c.Int("keepdims", 1) != 0 || axes.nothing) return c.Out(0, reduced);
  if (ConstantFlags(axes.flags).has_value() || !axes.count.has_value())
    return c.Out(0, DropAxes(c, reduced, axes.flags));
  Dims dims = c.b.dims(reduced);
  c.Out(0, c.b.Reshape(reduced, KeptDims(dims, axes.flags, static_cast<int>(dims.size()) - *axes.count)));
}

template <ReduceKind kind>
void Plain(OnnxContext& c) {
  ReducedAxes axes = Axes(c);
  if (c.b.failed()) return;
  bool logical = c.b.dtype(c.in(0)) == DType::kBool;
  ReduceKind actual = !logical ? kind : kind == ReduceKind::kMax ? ReduceKind::kOr : ReduceKind::kAnd;
  Finish(c, ReduceOver(c, actual, c.in(0), axes), axes);
}

void Mean(OnnxContext& c) {
  OpBuilder& b = c.b;
  ReducedAxes axes = Axes(c);
  if (b.failed()) return;
  Dim count = 1;
  for (size_t i = 0; i < axes.flags.size(); ++i) count = count * Select(axes.flags[i], b.dims(c.in(0))[i], 1);
  DType dtype = b.dtype(c.in(0)), wide = WideType(dtype);
  ValueId sum = ReduceOver(c, ReduceKind::kSum, b.Cast(c.in(0), wide), axes);
  ValueId divisor = count.is_constant() ? b.Scalar(wide, static_cast<double>(count.value()))
                                        : b.Cast(b.DimScalar(count), wide);
  Finish(c, b.Cast(b.Div(sum, divisor), dtype), axes);
}

ValueId SumOfSquares(OnnxContext& c, const ReducedAxes& axes) {
  ValueId x = c.b.Cast(c.in(0), WideType(c.b.dtype(c.in(0))));
  return ReduceOver(c, ReduceKind::kSum, c.b.Mul(x, x), axes);
}

void SumSquare(OnnxContext& c) {
  ReducedAxes axes = Axes(c);
  if (c.b.failed()) return;
  Finish(c, c.b.Cast(SumOfSquares(c, axes), c.b.dtype(c.in(0))), axes);
}

void L1(OnnxContext& c) {
  ReducedAxes axes = Axes(c);
  if (c.b.failed()) return;
  Finish(c, ReduceOver(c, ReduceKind::kSum, c.b.Unary(ExprOp::kAbs, c.in(0)), axes), axes);
}

// Roots and logarithms of integers are taken in f64 and truncated.
ValueId InFloat(OpBuilder& b, ExprOp op, ValueId x) {
  DType dtype = b.dtype(x);
  return IsFloat(dtype) ? b.Unary(op, x) : b.Cast(b.Unary(op, b.Cast(x, DType::kF64)), dtype);
}

void L2(OnnxContext& c) {
  ReducedAxes axes = Axes(c);
  if (c.b.failed()) return;
  Finish(c, c.b.Cast(InFloat(c.b, ExprOp::kSqrt, SumOfSquares(c, axes)), c.b.dtype(c.in(0))), axes);
}

void LogSum(OnnxContext& c) {
  ReducedAxes axes = Axes(c);
  if (c.b.failed()) return;
  DType dtype = c.b.dtype(c.in(0));
  ValueId sum = ReduceOver(c, ReduceKind::kSum, c.b.Cast(c.in(0), WideType(dtype)), axes);
  Finish(c, c.b.Cast(InFloat(c.b, ExprOp::kLog, sum), dtype), axes);
}

// The largest element is taken out first, so that nothing overflows; an infinite one stays in.
void LogSumExp(OnnxContext& c) {
  OpBuilder& b = c.b;
  ReducedAxes axes = Axes(c);
  if (b.failed()) return;
  DType dtype = b.dtype(c.in(0));
  ValueId x = b.Cast(c.in(0), IsFloat(dtype) ? WideType(dtype) : DType::kF64);
  ValueId largest = ReduceOver(c, ReduceKind::kMax, x, axes);
  largest = b.Where(b.Unary(ExprOp::kIsInf, largest), b.Scalar(b.dtype(x), 0), largest);
  ValueId sum = ReduceOver(c, ReduceKind::kSum, b.Unary(ExprOp::kExp, b.Sub(x, largest)), axes);
  Finish(c, b.Cast(b.Add(b.Unary(ExprOp::kLog, sum), largest), dtype), axes);
}

template <ReduceKind kind>
void ArgReduce(OnnxContext& c) {
  OpBuilder& b = c.b;
  int axis = b.NormalizeAxis(c.Int("axis", 0), b.rank(c.in(0)));
  if (b.failed()) return;
  ValueId result = b.Reduce(kind, c.in(0), {axis}, c.Int("select_last_index", 0) != 0);
  c.Out(0, c.Int("keepdims", 1) != 0 ? result : b.Squeeze(result, {axis}));
}

// Axes became an input in opset 13 for ReduceSum and in opset 18 for the others.
constexpr OnnxOp AttributeRow(std::string_view name, int until, void (*lower)(OnnxContext&)) {
  return {"", name, 1, until, 1, 1, "axes keepdims", lower, kNumbers};
}
constexpr OnnxOp InputRow(std::string_view name, int since, void (*lower)(OnnxContext&),
                          DTypeSet types = kNumbers) {
  return {"", name, since, kLatest, 1, 2, "keepdims noop_with_empty_axes", lower, types};
}

constexpr OnnxOp kRows[] = {
    AttributeRow("ReduceSum", 12, Plain<ReduceKind::kSum>),
    InputRow("ReduceSum", 13, Plain<ReduceKind::kSum>),
    AttributeRow("ReduceProd", 17, Plain<ReduceKind::kProduct>),
    InputRow("ReduceProd", 18, Plain<ReduceKind::kProduct>),
    AttributeRow("ReduceMax", 17, Plain<ReduceKind::kMax>),
    InputRow("ReduceMax", 18, Plain<ReduceKind::kMax>, kNumbers | kBools),
    AttributeRow("ReduceMin", 17, Plain<ReduceKind::kMin>),
    InputRow("ReduceMin", 18, Plain<ReduceKind::kMin>, kNumbers | kBools),
    AttributeRow("ReduceMean", 17, Mean),
    InputRow("ReduceMean", 18, Mean),
    AttributeRow("ReduceSumSquare", 17, SumSquare),
    InputRow("ReduceSumSquare", 18, SumSquare),
    AttributeRow("ReduceL1", 17, L1),
    InputRow("ReduceL1", 18, L1),
    AttributeRow("ReduceL2", 17, L2),
    InputRow("ReduceL2", 18, L2),
    AttributeRow("ReduceLogSum", 17, LogSum),
    InputRow("ReduceLogSum", 18, LogSum),
    AttributeRow("ReduceLogSumExp", 17, LogSumExp),
    InputRow("ReduceLogSumExp", 18, LogSumExp),
    {"", "ArgMax", 1, kLatest, 1, 1, "axis keepdims select_last_index", ArgReduce<ReduceKind::kArgMax>,
     kNumbers},
    {"", "ArgMin", 1, kLatest, 1, 1, "axis keepdims select_last_index", ArgReduce<ReduceKind::kArgMin>,
     kNumbers},
};

}  // namespace

std::span<const OnnxOp> OnnxReduceRows() { return kRows; }

}  // namespace tvmvm::ir
