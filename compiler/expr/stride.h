// How an index expression moves when one variable does: what decides between wide loads, broadcasts and
// gathers.
#pragma once

#include <optional>
#include <vector>

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {

bool DependsOn(const Expr& a, VariableId variable);

// c where `index` = c * variable + (terms without it), c made of integers and dims; nothing where it is not
// of that form.
std::optional<ir::Dim> Coefficient(const Expr& index, VariableId variable);

// The numbers that the lanes of a vector of i64 are, where they are made of integers alone.
std::optional<std::vector<int64_t>> ConstantLanes(const Expr& a);

// An i64 expression of integers and dims alone, as a dim.
std::optional<ir::Dim> AsDim(const Expr& a);

// Steps along neighbouring axes of such sizes as one step along their flattened position, where that exists.
std::optional<ir::Dim> FlattenedStep(const ir::Dims& sizes, const std::vector<ir::Dim>& steps);

}  // namespace tvmvm::tensor
