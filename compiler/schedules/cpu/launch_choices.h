// Choices in the indices of loads that a launch makes for all elements: whether an axis is broadcast, whether
// places of padding are found without a division. Loops that are built for each way that they go have wide
// loads, or cheap ones.
#pragma once

#include <functional>
#include <vector>

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {

// The condition of such a choice between expressions of which `matters` holds; invalid: there is none.
Expr FindLaunchChoice(const std::vector<Expr>& roots, const std::function<bool(const Expr&)>& matters);

// The roots where `choice` holds, or where it does not.
std::vector<Expr> Chosen(const std::vector<Expr>& roots, const Expr& choice, bool holds);

// Whether something is divided in it.
bool Divides(const Expr& e);

}  // namespace tvmvm::tensor
