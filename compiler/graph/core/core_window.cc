// window: a reduction over sliding windows of any axes; pooling, local sums.
//
//   window(x) {kind, kernel, strides, dilations, low, high, dims, include_padding}
// All lists have one entry an axis of x (1 where an axis has no window); `dims` are the result's. Kinds:
// "max", "min", "sum", "average" (over the elements inside; with include_padding also over the padding; of
// none: 0), "argmax" (i64: the flat row-major index in x of the first largest element).

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/core_values.h"
#include "fmt/format.h"

namespace tvmvm::ir {
namespace {

using tensor::Expr;
using tensor::ReduceKind;

Expected<std::vector<Type>> InferWindow(const InferContext& context) {
  const Type& x = context.inputs[0];
  size_t rank = x.dims.size();
  for (const char* name : {"kernel", "strides", "dilations"}) {
    if (context.node.Ints(name).size() != rank)
      return MakeError(Code::kInvalidArgument, fmt::format("'{}' has {} entries, the data {} axes", name,
                                                           context.node.Ints(name).size(), rank));
    for (int64_t value : context.node.Ints(name))
      if (value < 1)
        return MakeError(Code::kInvalidArgument, fmt::format("'{}' holds {}, want at least 1", name, value));
  }
  for (const char* name : {"low", "high", "dims"})
    if (context.node.DimList(name).size() != rank)
      return MakeError(Code::kInvalidArgument, fmt::format("'{}' has {} entries, the data {} axes", name,
                                                           context.node.DimList(name).size(), rank));
  bool index = context.node.String("kind") == "argmax";
  return std::vector<Type>{Type::Tensor(index ? DType::kI64 : x.dtype, context.node.DimList("dims"))};
}

// Taps of a window as reduction axes, and where they read.
struct Taps {
  tensor::Reduction reduction;
  std::vector<Expr> position;  // clamped into the data
  Expr inside;                 // the tap reads the data
  Expr padded;                 // the tap reads the data or its padding
};

Expr TapPosition(const Node& node, size_t axis, const Expr& index, const Expr& tap) {
  return index * tensor::IntConstant(node.Ints("strides")[axis]) +
         tap * tensor::IntConstant(node.Ints("dilations")[axis]) -
         tensor::DimValue(node.DimList("low")[axis]);
}

Taps MakeTaps(ElementContext& context, std::span<const Expr> index) {
  const Node& node = context.node();
  const Type& x = context.input_type(0);
  Taps taps{{}, {}, tensor::BoolConstant(true), tensor::BoolConstant(true)};
  for (size_t axis = 0; axis < x.dims.size(); ++axis) {
    bool whole = node.Ints("kernel")[axis] == 1 && node.Ints("strides")[axis] == 1 &&
                 node.DimList("low")[axis].IsConstant(0);
    if (whole) {
      taps.position.push_back(index[axis]);
      continue;
    }
    Expr tap = AddAxis(context, &taps.reduction, node.Ints("kernel")[axis], "w");
    Expr position = TapPosition(node, axis, index[axis], tap);
    taps.padded =
        And(taps.padded, Less(position, tensor::DimValue(x.dims[axis] + node.DimList("high")[axis])));
    taps.position.push_back(ClampInside(position, x.dims[axis], &taps.inside));
  }
  return taps;
}

Expr Sum(const Taps& taps, Expr body, DType accumulator, DType dtype) {
  tensor::Reduction reduction = taps.reduction;
  reduction.kind = ReduceKind::kSum;
  reduction.accumulator = accumulator;
  return reduction.axes.empty() ? tensor::Cast(dtype, body)
                                : tensor::Reduce(std::move(reduction), std::move(body), dtype);
}

Expr AverageElement(ElementContext& context, std::span<const Expr> index) {
  DType dtype = context.output_type().dtype;
  DType accumulator = AccumulatorOf(dtype);
  Expr zero = tensor::Constant(accumulator, 0), one = tensor::Constant(accumulator, 1);
  Taps taps = MakeTaps(context, index);
  Expr total =
      Sum(taps, tensor::Select(taps.inside, tensor::Cast(accumulator, context.Input(0, taps.position)), zero),
          accumulator, accumulator);
  Taps counted = MakeTaps(context, index);  // axes of its own: two reductions
  Expr countable = context.node().Int("include_padding") != 0 ? counted.padded : counted.inside;
  Expr count = Sum(counted, tensor::Select(countable, one, zero), accumulator, accumulator);
  return tensor::Cast(dtype, total / Max(count, one));  // the average of nothing is 0
}

// One reduction axis over all taps, so that the winner is one number; its coordinates give the flat index.
Expr ArgMaxElement(ElementContext& context, std::span<const Expr> index) {
  const Node& node = context.node();
  const Type& x = context.input_type(0);
  int64_t taps = 1;
  for (int64_t size : node.Ints("kernel")) taps *= size;
  auto place = [&](Expr tap, Expr* inside) {
    std::vector<Expr> position(x.dims.size());
    for (size_t axis = x.dims.size(); axis-- > 0;) {
      Expr size = tensor::IntConstant(node.Ints("kernel")[axis]);
      position[axis] =
          ClampInside(TapPosition(node, axis, index[axis], FloorMod(tap, size)), x.dims[axis], inside);
      tap = FloorDiv(tap, size);
    }
    return position;
  };
  tensor::Reduction reduction;
  reduction.kind = ReduceKind::kArgMax;
  reduction.accumulator = x.dtype;
  reduction.axes = {context.NewAxis("w")};
  reduction.extents = {tensor::IntConstant(taps)};
  Expr inside = tensor::BoolConstant(true);
  std::vector<Expr> position = place(tensor::Variable(reduction.axes[0]), &inside);
  Expr body = tensor::Select(inside, context.Input(0, position), LowestValue(x.dtype));
  Expr winner = tensor::Reduce(std::move(reduction), body, DType::kI64);
  Expr ignored = tensor::BoolConstant(true);
  Expr flat = tensor::IntConstant(0);
  std::vector<Expr> best = place(winner, &ignored);
  for (size_t axis = 0; axis < x.dims.size(); ++axis)
    flat = flat * tensor::DimValue(x.dims[axis]) + best[axis];
  return flat;
}

Expr WindowElement(ElementContext& context, std::span<const Expr> index) {
  const std::string& kind = context.node().String("kind");
  if (kind == "average") return AverageElement(context, index);
  if (kind == "argmax") return ArgMaxElement(context, index);
  DType dtype = context.output_type().dtype;
  Taps taps = MakeTaps(context, index);
  Expr value = context.Input(0, taps.position);
  if (kind == "sum") {
    DType accumulator = AccumulatorOf(dtype);
    return Sum(
        taps, tensor::Select(taps.inside, tensor::Cast(accumulator, value), tensor::Constant(accumulator, 0)),
        accumulator, dtype);
  }
  bool smallest = kind == "min";
  taps.reduction.kind = smallest ? ReduceKind::kMin : ReduceKind::kMax;
  taps.reduction.accumulator = dtype;
  if (taps.reduction.axes.empty()) return value;
  return tensor::Reduce(
      std::move(taps.reduction),
      tensor::Select(taps.inside, value, smallest ? HighestValue(dtype) : LowestValue(dtype)), dtype);
}

constexpr CoreOp kWindowOps[] = {
    {.name = "window",
     .kind = OpKind::kWindow,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferWindow,
     .element = WindowElement,
     .meaning = "a reduction over sliding windows; padding is left out",
     .attributes = "kind kernel strides dilations low high dims include_padding",
     .traits = {.reorder = Reorder::kLists}},
};

}  // namespace

std::span<const CoreOp> WindowFamily() { return kWindowOps; }

}  // namespace tvmvm::ir
