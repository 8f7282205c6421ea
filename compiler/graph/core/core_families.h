// The families of core operators, one file each, and what they share. families.def lists them; nobody but
// they and core_ops.cc includes this.
#pragma once

#include <span>

#include "compiler/graph/core_op.h"

namespace tvmvm::ir {

#define FAMILY(Name) std::span<const CoreOp> Name##Family();
#include "compiler/graph/core/families.def"
#undef FAMILY

// ---- what the rows share (core_ops.cc) ----

using tensor::Expr;

// Errors: kInvalidArgument "axis 3 is out of range for rank 2".
tl::unexpected<Error> BadAxis(int64_t axis, int rank);
// A tensor type of known rank, or an error that names the input.
Expected<Type> RankedTensor(const InferContext& context, size_t input);
// The integers and dims of a list attribute of either kind; an error where absent.
Expected<Dims> DimsAttribute(const Node& node, std::string_view name);
Expected<std::vector<int64_t>> IntsAttribute(const Node& node, std::string_view name);
Expected<DType> DTypeAttribute(const Node& node, std::string_view name);
// One tensor type as a row's answer.
inline std::vector<Type> One(DType dtype, Dims dims) { return {Type::Tensor(dtype, std::move(dims))}; }

// The element type that the attribute `dtype` asks for.
DType DTypeOr(const Node& node, DType otherwise);
// A new axis of the reduction; its variable.
Expr AddAxis(ElementContext& context, tensor::Reduction* reduction, const Dim& extent, std::string_view name);
// The type in which sums of `dtype` accumulate: f32 for narrower floats, else the type itself.
DType AccumulatorOf(DType dtype);
// Index -1 is the last along an axis of this size; indices out of range are clamped, so that memory stays
// safe.
Expr WrapIndex(Expr index, const Dim& size);
// The input's element at clamped coordinates, or 0 where one of these sizes is 0, so that there is nothing to
// clamp into.
Expr InputUnlessEmpty(ElementContext& context, int input, std::span<const Expr> index,
                      std::span<const Dim> sizes);

}  // namespace tvmvm::ir
