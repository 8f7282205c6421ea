// Reductions over any set of axes; which axes may even be known only at run time.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::IntConstant;
using tensor::ReduceKind;

bool FindsPosition(ReduceKind kind) { return kind == ReduceKind::kArgMin || kind == ReduceKind::kArgMax; }

Expected<std::vector<Type>> InferReduce(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  TVMVM_TRY(Dims flags, DimsAttribute(context.node, "flags"));
  std::optional<ReduceKind> kind = ReduceKindFromName(context.node.String("kind"));
  if (!kind)
    return MakeError(Code::kUnsupported,
                     fmt::format("reduction '{}' is unknown", context.node.String("kind")));
  if (flags.size() != type.dims.size())
    return MakeError(Code::kInvalidArgument, fmt::format("{} flags for {}", flags.size(), type.ToString()));
  bool is_logic = *kind == ReduceKind::kAnd || *kind == ReduceKind::kOr;
  bool is_ordered = *kind == ReduceKind::kMin || *kind == ReduceKind::kMax;
  bool fits =
      is_logic ? type.dtype == DType::kBool || IsInteger(type.dtype)
               : IsFloat(type.dtype) || IsInteger(type.dtype) || (is_ordered && type.dtype == DType::kBool);
  if (!fits)
    return MakeError(Code::kUnsupported, fmt::format("reduction '{}' is not defined for {}",
                                                     context.node.String("kind"), type.ToString()));
  Dims dims;
  int reduced = 0;
  for (size_t axis = 0; axis < flags.size(); ++axis) {
    dims.push_back(Select(flags[axis], 1, type.dims[axis]));
    reduced += !flags[axis].IsConstant(0);
  }
  if (FindsPosition(*kind) && reduced != 1)
    return MakeError(Code::kInvalidArgument, fmt::format("reduction '{}' takes one axis, {} given",
                                                         context.node.String("kind"), reduced));
  return One(FindsPosition(*kind) ? DType::kI64 : type.dtype, std::move(dims));
}

Expr ReduceElement(ElementContext& context, std::span<const Expr> index) {
  const Node& node = context.node();
  const Dims& flags = node.DimList("flags");
  const Type& type = context.input_type(0);
  ReduceKind kind = *ReduceKindFromName(node.String("kind"));
  tensor::Reduction reduction{.kind = kind, .select_last = node.Int("select_last") != 0};
  std::vector<Expr> source(index.begin(), index.end());
  for (size_t axis = 0; axis < flags.size(); ++axis) {
    if (flags[axis].IsConstant(0)) continue;
    Dim extent = Select(flags[axis], type.dims[axis], 1);
    if (extent.IsConstant(1)) continue;
    Expr variable = AddAxis(context, &reduction, extent, "r");
    Expr is_reduced = tensor::Equal(DimValue(flags[axis]), IntConstant(1));
    source[axis] = Select(is_reduced, variable, index[axis]);
  }
  if (reduction.axes.empty()) return FindsPosition(kind) ? IntConstant(0) : context.Input(0, source);
  bool accumulates = kind == ReduceKind::kSum || kind == ReduceKind::kProduct;
  reduction.accumulator = accumulates ? AccumulatorOf(type.dtype) : type.dtype;
  Expr body = Cast(reduction.accumulator, context.Input(0, source));
  return Reduce(std::move(reduction), std::move(body), context.output_type().dtype);
}

constexpr CoreOp kRows[] = {
    {.name = "reduce",
     .kind = OpKind::kReduce,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferReduce,
     .element = ReduceElement,
     .meaning = "x reduced by `kind` over the axes whose flag is 1; the rank is kept",
     .attributes = "flags kind select_last",
     .traits = {.axes = AxisMap::kReduce, .reorder = Reorder::kLists}},
};

}  // namespace

std::span<const CoreOp> ReduceFamily() { return kRows; }

}  // namespace tvmvm::ir
