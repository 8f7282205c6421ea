// What powers need from exponentials and logarithms. Private to compiler/expr.
#pragma once

#include "compiler/expr/approximate.h"
#include "compiler/expr/expr.h"

namespace tvmvm::tensor::approximate {

// exp(x + tail), the tail being small beside x.
Expr ExpOfLongSum(const Expr& x, const Expr& tail, MathTarget target);

}  // namespace tvmvm::tensor::approximate
