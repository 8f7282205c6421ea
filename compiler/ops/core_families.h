// The families of core rows, and what their tensor expressions share.
#pragma once

#include <span>

#include "compiler/ops/core_op.h"

namespace tvmvm::ir {

std::span<const CoreOp> CoreElementwiseOps();
std::span<const CoreOp> CoreMovementOps();
std::span<const CoreOp> CoreReduceOps();
std::span<const CoreOp> CoreContractionOps();
std::span<const CoreOp> CoreConvolutionOps();
std::span<const CoreOp> CoreWindowOps();
std::span<const CoreOp> CoreControlOps();     // constant, define_dims, dims_tensor, fused, if, loop, call

// The dtype that sums of a dtype are accumulated in: f32 for 16-bit and smaller floats, else itself.
DType AccumulatorOf(DType dtype);
// The smallest and largest value of a dtype (floats: infinities), as a constant.
tensor::Expr LowestValue(DType dtype);
tensor::Expr HighestValue(DType dtype);
// `position` limited to [0, dim - 1]; `inside` is narrowed by 0 <= position < dim.
tensor::Expr ClampInside(const tensor::Expr& position, const Dim& dim, tensor::Expr* inside);
// As ClampInside; where both paddings are 0 the position is inside as it is.
tensor::Expr ClampPadded(const tensor::Expr& position, const Dim& dim, const Dim& low, const Dim& high, tensor::Expr* inside);

}  // namespace tvmvm::ir
