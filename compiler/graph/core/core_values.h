// Values and positions that tensor expressions of several families share.
#pragma once

#include "compiler/graph/core_op.h"

namespace tvmvm::ir {

// The smallest and largest value of a dtype (floats: infinities), as a constant.
tensor::Expr LowestValue(DType dtype);
tensor::Expr HighestValue(DType dtype);
// `index` limited to [0, size - 1].
tensor::Expr ClampIndex(const tensor::Expr& index, const tensor::Expr& size);
// `position` limited to [0, dim - 1]; `inside` is narrowed by 0 <= position < dim.
tensor::Expr ClampInside(const tensor::Expr& position, const Dim& dim, tensor::Expr* inside);
// As ClampInside; where both paddings are 0 the position is inside as it is.
tensor::Expr ClampPadded(const tensor::Expr& position, const Dim& dim, const Dim& low, const Dim& high,
                         tensor::Expr* inside);

}  // namespace tvmvm::ir
