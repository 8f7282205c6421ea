// Indexing: gathers, whose indices are data. Negative indices count from the end; indices out of range are
// clamped.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/core_values.h"
#include "compiler/graph/requirements.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::IntConstant;

Expected<Type> IndexTensor(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 1));
  if (!IsInteger(type.dtype))
    return MakeError(Code::kInvalidArgument, fmt::format("indices are {}, wanted integers", type.ToString()));
  return type;
}

Expected<std::vector<Type>> InferGather(const InferContext& context) {
  TVMVM_TRY(Type data, RankedTensor(context, 0));
  TVMVM_TRY(Type indices, IndexTensor(context));
  int64_t axis = context.node.Int("axis");
  if (axis < 0 || axis >= data.rank()) return BadAxis(axis, data.rank());
  Dims dims(data.dims.begin(), data.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + axis + 1, data.dims.end());
  return One(data.dtype, std::move(dims));
}

Expr GatherElement(ElementContext& context, std::span<const Expr> index) {
  auto axis = static_cast<size_t>(context.node().Int("axis"));
  size_t count = context.input_type(1).dims.size();
  Expr position = context.Input(1, index.subspan(axis, count));
  std::vector<Expr> source(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(axis));
  source.push_back(WrapIndex(position, context.input_type(0).dims[axis]));
  source.insert(source.end(), index.begin() + static_cast<std::ptrdiff_t>(axis + count), index.end());
  return InputUnlessEmpty(context, 0, source, {&context.input_type(0).dims[axis], 1});
}

Expected<std::vector<Type>> InferGatherElements(const InferContext& context) {
  TVMVM_TRY(Type data, RankedTensor(context, 0));
  TVMVM_TRY(Type indices, IndexTensor(context));
  int64_t axis = context.node.Int("axis");
  if (axis < 0 || axis >= data.rank()) return BadAxis(axis, data.rank());
  if (indices.rank() != data.rank())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("indices are {}, wanted rank {}", indices.ToString(), data.rank()));
  return One(data.dtype, indices.dims);
}

Expr GatherElementsElement(ElementContext& context, std::span<const Expr> index) {
  auto axis = static_cast<size_t>(context.node().Int("axis"));
  std::vector<Expr> source(index.begin(), index.end());
  const Expr position = context.Input(1, index);
  const bool is_inside = context.node().Int("inside") != 0;
  const Dim& size = context.input_type(0).dims[axis];
  source[axis] =
      is_inside ? ClampIndex(Cast(DType::kI64, position), tensor::DimValue(size)) : WrapIndex(position, size);
  return InputUnlessEmpty(context, 0, source, {&size, 1});
}

Expected<std::vector<Type>> InferGatherNd(const InferContext& context) {
  TVMVM_TRY(Type data, RankedTensor(context, 0));
  TVMVM_TRY(Type indices, IndexTensor(context));
  int64_t batch = context.node.Int("batch_dims");
  int64_t depth = indices.dims.empty() ? 0 : indices.dims.back().constant().value_or(0);
  if (batch < 0 || batch >= indices.rank() || depth < 1 || depth > data.rank() - batch)
    return MakeError(Code::kInvalidArgument, fmt::format("indices {} with batch_dims {} do not address {}",
                                                         indices.ToString(), batch, data.ToString()));
  Dims dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), data.dims.begin() + batch + depth, data.dims.end());
  return One(data.dtype, std::move(dims));
}

Expr GatherNdElement(ElementContext& context, std::span<const Expr> index) {
  auto batch = static_cast<size_t>(context.node().Int("batch_dims"));
  const Dims& indices = context.input_type(1).dims;
  const Dims& data = context.input_type(0).dims;
  auto depth = static_cast<size_t>(indices.back().value());
  size_t leading = indices.size() - 1;
  std::vector<Expr> tuple(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(leading));
  std::vector<Expr> source(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(batch));
  for (size_t k = 0; k < batch; ++k)
    if (!(indices[k] == data[k])) source[k] = WrapIndex(source[k], data[k]);
  tuple.emplace_back();
  for (size_t k = 0; k < depth; ++k) {
    tuple.back() = IntConstant(static_cast<int64_t>(k));
    source.push_back(WrapIndex(context.Input(1, tuple), data[batch + k]));
  }
  source.insert(source.end(), index.begin() + static_cast<std::ptrdiff_t>(leading), index.end());
  return InputUnlessEmpty(context, 0, source, std::span(data).first(batch + depth));
}

constexpr CoreOp kRows[] = {
    {.name = "gather",
     .kind = OpKind::kMovement,
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = InferGather,
     .element = GatherElement,
     .meaning = "slices of x along `axis` chosen by the indices",
     .attributes = "axis",
     .traits = {.axes = AxisMap::kGather, .reorder = Reorder::kAxis, .data_inputs = 1, .pull = true}},
    {.name = "gather_elements",
     .kind = OpKind::kMovement,
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = InferGatherElements,
     .element = GatherElementsElement,
     .meaning = "each element of x along `axis` at the index of the same place; with `inside` 1, indices are "
                "neither negative nor too large",
     .attributes = "axis inside",
     .traits = {.pull = true},
     .requirements = RequireSmallerIndices},
    {.name = "gather_nd",
     .kind = OpKind::kMovement,
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = InferGatherNd,
     .element = GatherNdElement,
     .meaning = "slices of x addressed by tuples along the last axis of the indices",
     .attributes = "batch_dims",
     .traits = {.pull = true}},
};

}  // namespace

std::span<const CoreOp> IndexingFamily() { return kRows; }

}  // namespace tvmvm::ir
