// Padding by a value, by reflection, by the edge or periodically; negative padding crops.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/core_values.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::IntConstant;

bool IsPadMode(std::string_view mode) {
  return mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap";
}

Expected<std::vector<Type>> InferPad(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  TVMVM_TRY(Dims low, DimsAttribute(context.node, "low"));
  TVMVM_TRY(Dims high, DimsAttribute(context.node, "high"));
  if (low.size() != type.dims.size() || high.size() != type.dims.size())
    return MakeError(Code::kInvalidArgument, fmt::format("{} low and {} high paddings for {}", low.size(),
                                                         high.size(), type.ToString()));
  const std::string& mode = context.node.String("mode");
  if (!IsPadMode(mode))
    return MakeError(Code::kUnsupported, fmt::format("padding mode '{}' is unknown", mode));
  if (context.inputs.size() > 1 && context.inputs[1].dtype != DType::kInvalid &&
      (context.inputs[1].dtype != type.dtype || !Product(context.inputs[1].dims).IsConstant(1)))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("padding value is {}, wanted one element of {}",
                                 context.inputs[1].ToString(), DTypeName(type.dtype)));
  Dims dims;
  for (size_t axis = 0; axis < low.size(); ++axis) {
    dims.push_back(low[axis] + type.dims[axis] + high[axis]);
    if (dims.back().constant().value_or(0) < 0)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("axis {}: padding {} and {} crops all of {}", axis, low[axis].ToString(),
                                   high[axis].ToString(), type.ToString()));
  }
  return One(type.dtype, std::move(dims));
}

// Whether the padding of an axis, along which a mode without a value pads, repeats no element of a side
// twice. Then places are found without a division.
Expr IsNear(std::string_view mode, const Dim& low, const Dim& high, const Dim& size) {
  const Dim most = mode == "reflect" ? size - 1 : size;
  Expr near = tensor::BoolConstant(true);
  if (mode == "edge") return near;
  for (const Dim& side : {low, high})
    if (RangeOf(most - side).low < 0) near = And(near, LessEqual(DimValue(side), DimValue(most)));
  return near;
}

// The source coordinate of an axis for the modes without a value. That of most elements is their own.
Expr SourceIndex(std::string_view mode, const Expr& i, const Expr& size, const Expr& is_near) {
  if (mode == "edge") return ClampIndex(i, size);
  const bool reflects = mode == "reflect";
  auto unless_inside = [&](const Expr& outside) {
    return Select(And(LessEqual(IntConstant(0), i), Less(i, size)), i, outside);
  };
  // Reflection without repeating the edge has period 2 * (size - 1); one element alone repeats.
  const Expr whole = (size - IntConstant(1)) * IntConstant(2);
  const Expr near = unless_inside(Select(Less(i, IntConstant(0)), reflects ? IntConstant(0) - i : i + size,
                                         reflects ? whole - i : i - size));
  Expr outside = FloorMod(i, size);
  if (reflects) {
    Expr period = Max(whole, IntConstant(1));
    Expr phase = FloorMod(i, period);
    outside = ClampIndex(Select(Less(phase, size), phase, period - phase), size);
  }
  return Select(is_near, near, unless_inside(outside));
}

Expr PadElement(ElementContext& context, std::span<const Expr> index) {
  const Node& node = context.node();
  const Dims& low = node.DimList("low");
  const Dims& high = node.DimList("high");
  const Dims& dims = context.input_type(0).dims;
  const std::string& mode = node.String("mode");
  Expr inside = tensor::BoolConstant(true), is_near = inside;
  if (mode != "constant") {
    // One condition for all axes, so that kernels choose once.
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (!low[axis].IsConstant(0) || !high[axis].IsConstant(0))
        is_near = And(is_near, IsNear(mode, low[axis], high[axis], dims[axis]));
  }
  std::vector<Expr> source;
  Dims padded;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    Expr i = index[axis] - DimValue(low[axis]), size = DimValue(dims[axis]);
    bool unpadded = low[axis].IsConstant(0) && high[axis].IsConstant(0);
    if (unpadded) {
      source.push_back(index[axis]);
    } else if (mode != "constant") {
      source.push_back(SourceIndex(mode, i, size, is_near));
      padded.push_back(dims[axis]);
    } else {
      inside = And(inside, And(LessEqual(IntConstant(0), i), Less(i, size)));
      source.push_back(ClampIndex(i, size));
    }
  }
  if (mode != "constant") return InputUnlessEmpty(context, 0, source, padded);
  Expr value = tensor::Constant(context.output_type().dtype, 0);
  if (context.has_input(1))
    value = context.Input(1, std::vector<Expr>(context.input_type(1).dims.size(), IntConstant(0)));
  if (IsIntConstant(inside, 0)) return value;
  return Select(inside, context.Input(0, source), value);
}

constexpr CoreOp kRows[] = {
    {.name = "pad",
     .kind = OpKind::kMovement,
     .min_inputs = 1,
     .max_inputs = 2,
     .infer = InferPad,
     .element = PadElement,
     .meaning =
         "x with `low` elements before and `high` after each axis; mode constant, reflect, edge or wrap",
     .attributes = "low high mode",
     .traits = {.axes = AxisMap::kPad, .reorder = Reorder::kLists, .data_inputs = 1, .moves = true}},
};

}  // namespace

std::span<const CoreOp> PaddingFamily() { return kRows; }

}  // namespace tvmvm::ir
