// The families of core operators, one file each. core_ops.cc joins them; nobody else includes this.
#pragma once

#include <span>

#include "compiler/graph/core_op.h"

namespace tvmvm::ir {

std::span<const CoreOp> ElementwiseFamily();    // core_elementwise.cc
std::span<const CoreOp> MovementFamily();       // core_movement.cc
std::span<const CoreOp> IndexingFamily();       // core_indexing.cc
std::span<const CoreOp> PaddingFamily();        // core_padding.cc
std::span<const CoreOp> ReduceFamily();         // core_reduce.cc
std::span<const CoreOp> ContractionFamily();    // core_contraction.cc
std::span<const CoreOp> ConvolutionFamily();    // core_convolution.cc
std::span<const CoreOp> WindowFamily();         // core_window.cc
std::span<const CoreOp> ScanFamily();           // core_scan.cc
std::span<const CoreOp> SortFamily();           // core_sort.cc
std::span<const CoreOp> ScatterFamily();        // core_scatter.cc
std::span<const CoreOp> CompactFamily();        // core_compact.cc
std::span<const CoreOp> CheckFamily();          // core_check.cc
std::span<const CoreOp> TreeFamily();           // core_trees.cc
std::span<const CoreOp> CouplingFamily();       // core_coupling.cc
std::span<const CoreOp> RandomFamily();         // core_random.cc
std::span<const CoreOp> LinearAlgebraFamily();  // core_linear_algebra.cc
std::span<const CoreOp> RoiFamily();            // core_roi.cc
std::span<const CoreOp> ControlFamily();        // core_control.cc
std::span<const CoreOp> HostFamily();           // core_host.cc

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
