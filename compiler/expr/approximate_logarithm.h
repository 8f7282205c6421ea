// What powers need from exponentials and logarithms. Private to compiler/expr.
#pragma once

#include "compiler/expr/expr.h"

namespace tvmvm::tensor::approximate {

// exp(x + tail), the tail being small beside x.
Expr ExpOfLongSum(const Expr& x, const Expr& tail);

}  // namespace tvmvm::tensor::approximate
