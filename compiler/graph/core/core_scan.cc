// Running sums and products along an axis, which may be known only at run time.
//
//   scan(x) {axis (dim), kind "sum" or "product", exclusive, reverse}
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Lanes;
using tensor::Variable;

Dim AxisOf(const Node& node) {
  const Attribute* attribute = node.Find("axis");
  const Dim* axis = attribute ? std::get_if<Dim>(attribute) : nullptr;
  return axis ? *axis : Dim(node.Int("axis"));
}

Expected<std::vector<Type>> InferScan(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  const std::string& kind = context.node.String("kind");
  if (kind != "sum" && kind != "product")
    return MakeError(Code::kUnsupported, fmt::format("scan of kind '{}' is unknown", kind));
  if (!IsFloat(type.dtype) && !IsInteger(type.dtype))
    return MakeError(Code::kUnsupported, fmt::format("scan is not defined for {}", DTypeName(type.dtype)));
  Dim axis = AxisOf(context.node);
  if (axis.is_constant() && (axis.value() < 0 || axis.value() >= type.rank()))
    return BadAxis(axis.value(), type.rank());
  return One(type.dtype, type.dims);
}

// Step by step along the axis, vectors across what lies inside of it.
Expected<tensor::StmtPtr> ScanLoops(LoopContext& context) {
  const Node& node = context.node();
  const Type& type = context.input_type(0);
  AxisSplit split = SplitAt(type.dims, AxisOf(node));
  bool is_product = node.String("kind") == "product";
  bool is_exclusive = node.Int("exclusive") != 0, is_reverse = node.Int("reverse") != 0;
  Expr identity = tensor::Constant(type.dtype, is_product ? 1 : 0);
  tensor::Nest nest(&context.kernel());
  Expr outer = Variable(nest.Grid(0, "outer", split.outer));
  Expr size = DimValue(split.size), inner = DimValue(split.inner);
  auto at = [&](const Expr& step, const Expr& j) {
    Expr place = is_reverse ? size - IntConstant(1) - step : step;
    return FlatPosition(type, (outer * size + place) * inner + j);
  };
  int width = LanesOf(context.target(), type.dtype);
  auto store = [&](const Expr& step, const Expr& j, const Lanes& lanes, bool is_first) {
    Expr value = is_first ? identity : context.LoadOutput(0, at(step - IntConstant(1), j));
    if (is_first && !is_exclusive) value = context.Load(0, at(step, j));
    if (!is_first) {
      Expr next = context.Load(0, at(is_exclusive ? step - IntConstant(1) : step, j));
      value = Binary(is_product ? ExprOp::kMul : ExprOp::kAdd, value, next);
    }
    ForLanes(nest, lanes, [&] { nest.Add(context.Store(0, at(step, j), nest.Place(value))); });
  };
  nest.OpenIf(Less(IntConstant(0), size));
  tensor::ForVectors(nest, "j", IntConstant(0), inner, width, 1,
                     [&](const Expr& j, const Lanes& lanes) { store(IntConstant(0), j, lanes, true); });
  nest.Close();
  Expr step = Variable(nest.Open("step", IntConstant(1), size));
  tensor::ForVectors(nest, "j", IntConstant(0), inner, width, 1,
                     [&](const Expr& j, const Lanes& lanes) { store(step, j, lanes, false); });
  return nest.Finish();
}

constexpr CoreOp kRows[] = {
    {.name = "scan",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferScan,
     .loops = ScanLoops,
     .meaning = "running sum or product along `axis`; exclusive leaves out the element itself, reverse runs "
                "from the end",
     .attributes = "axis kind exclusive reverse"},
};

}  // namespace

std::span<const CoreOp> ScanFamily() { return kRows; }

}  // namespace tvmvm::ir
