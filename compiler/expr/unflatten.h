// The coordinates of a row-major position.
#pragma once

#include <vector>

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {

// Those of axes that have one element are 0; the others are what divisions by the dims, none of which is 0
// where there is a position, give.
std::vector<Expr> Unflatten(const Expr& flat, const ir::Dims& dims);

}  // namespace tvmvm::tensor
