// Definitions: constants, names for numbers that are known when the model runs, and what must hold of them.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/requirements.h"

namespace tvmvm::ir {
namespace {

Expected<std::vector<Type>> InferConstant(const InferContext& context) {
  const TensorData* data = context.node.Data("data");
  if (!data) return MakeError(Code::kInvalidArgument, "attribute 'data' is absent");
  return One(data->dtype, Dims(data->dims.begin(), data->dims.end()));
}

Expected<std::vector<Type>> InferDefineDims(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  const Attribute* attribute = context.node.Find("symbols");
  const auto* symbols = attribute ? std::get_if<std::vector<SymbolId>>(attribute) : nullptr;
  if (!symbols) return MakeError(Code::kInvalidArgument, "attribute 'symbols' is absent");
  if (!IsInteger(type.dtype) && type.dtype != DType::kBool)
    return MakeError(Code::kInvalidArgument, fmt::format("input is {}, wanted integers", type.ToString()));
  if (!Product(type.dims).IsConstant(static_cast<int64_t>(symbols->size())))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} symbols for {}", symbols->size(), type.ToString()));
  return std::vector<Type>{};
}

Expected<std::vector<Type>> InferDimsTensor(const InferContext& context) {
  TVMVM_TRY(Dims elements, DimsAttribute(context.node, "elements"));
  TVMVM_TRY(Dims dims, DimsAttribute(context.node, "dims"));
  TVMVM_TRY(DType dtype, DTypeAttribute(context.node, "dtype"));
  if (!Product(dims).IsConstant(static_cast<int64_t>(elements.size())))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} elements for shape {}", elements.size(), ToString(dims)));
  return One(dtype, std::move(dims));
}

Expected<std::vector<Type>> InferRequire(const InferContext& c) {
  const Attribute* condition = c.node.Find("condition");
  bool has_condition = condition != nullptr && std::holds_alternative<Dim>(*condition);
  if (has_condition && !c.node.String("message").empty()) return std::vector<Type>();
  return MakeError(Code::kInvalidArgument, "a condition and a message are wanted");
}

Expected<std::vector<Type>> InferTransfer(const InferContext& c) {
  const Type& type = c.inputs[0];
  if (type.kind == TypeKind::kTensor && type.ranked && type.dtype != DType::kString) return std::vector{type};
  return MakeError(Code::kInvalidArgument, type.ToString() + " cannot be copied between devices");
}

void RequireCondition(const Function&, const Node& node, Requirements* list) {
  Require(list, std::get<Dim>(*node.Find("condition")), node.String("message"), node.DimList("values"));
}

constexpr CoreOp kRows[] = {
    {.name = "constant",
     .kind = OpKind::kConstant,
     .infer = InferConstant,
     .meaning = "the tensor `data`",
     .attributes = "data"},
    {.name = "define_dims",
     .kind = OpKind::kDefineDims,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferDefineDims,
     .meaning = "names the elements of a small integer tensor, so that dims can use them",
     .attributes = "symbols"},
    {.name = "require",
     .kind = OpKind::kRequire,
     .infer = InferRequire,
     .meaning = "fails with `message`, whose {0}, {1}, ... are `values`, where `condition` is 0",
     .attributes = "condition message values",
     .requirements = RequireCondition},
    {.name = "dims_tensor",
     .kind = OpKind::kDimsTensor,
     .infer = InferDimsTensor,
     .meaning = "a small tensor of shape `dims` whose elements are dims",
     .attributes = "elements dims dtype"},
    {.name = "transfer",
     .kind = OpKind::kTransfer,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferTransfer,
     .meaning = "the same tensor on another device"},
};

}  // namespace

std::span<const CoreOp> DefinitionFamily() { return kRows; }

}  // namespace tvmvm::ir
