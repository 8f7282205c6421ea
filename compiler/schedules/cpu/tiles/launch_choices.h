// Choices that a launch makes for all elements. In the indices of loads: whether an axis is broadcast,
// whether places of padding are found without a division; loops that are built for each way that they go have
// wide loads, or cheap ones.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/expr/expr.h"
#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// The condition of such a choice between expressions of which `matters` holds; invalid: there is none.
Expr FindLaunchChoice(const std::vector<Expr>& roots, const std::function<bool(const Expr&)>& matters);

// The roots where `choice` holds, or where it does not.
std::vector<Expr> Chosen(const std::vector<Expr>& roots, const Expr& choice, bool holds);

// Whether something is divided in it.
bool Divides(const Expr& e);

// Whether at least so many bytes are moved by a kernel that writes `outputs`, all of dims `dims`.
Expr MovesMoreThan(const GroupView& group, const ir::Dims& dims, std::span<const uint32_t> outputs,
                   int64_t bytes);

// Whether reductions of `rows` elements each, with `results` of them side by side, are faster with vectors
// the other way: they run along the results, or along the rows, and that axis has `most` elements at most
// where the other one fills a vector. The same at every level.
ir::Dim AreBetterTurned(const ir::Dim& results, const ir::Dims& rows, bool are_lanes_results, int64_t most);

}  // namespace tvmvm::tensor
