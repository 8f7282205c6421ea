// How an index expression moves when one variable does: what decides between wide loads, broadcasts and
// gathers.
#pragma once

#include <optional>

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {

bool DependsOn(const Expr& a, VariableId variable);

// c where `index` = c * variable + (terms without it), c made of integers and dims; nothing where it is not
// of that form.
std::optional<ir::Dim> Coefficient(const Expr& index, VariableId variable);

// An i64 expression of integers and dims alone, as a dim.
std::optional<ir::Dim> AsDim(const Expr& a);

}  // namespace tvmvm::tensor
