// What vectors of a pull run along where something is reduced: the reduced axis, or the innermost axis of the
// result.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/expr/expr.h"
#include "compiler/schedules/cpu/cpu_schedules.h"

namespace tvmvm::tensor {

struct PullLanes {
  bool run_along_results = true;     // as a rule: where fewer loads gather
  bool has_inner_reduction = false;  // one that differs along the innermost axis
  bool has_long_reduction = false;   // such a one that is no window
  ir::Dim suits_turned = 0;          // sizes where the other way is the faster one
};

// `inner`, `extent`: the innermost axis of the result.
PullLanes ChoosePullLanes(std::span<const Expr> roots, VariableId inner, const ir::Dim& extent,
                          const PullsSchedule& schedule);

// The largest power of two within the extent, where that is known; `most` at most.
int LanesWithin(const ir::Dim& extent, int most);

// Whether something is reduced to where it was found.
bool FindsPlaces(std::span<const Expr> roots);

// Whether elements are gathered from the same places of each row.
bool GatherTogether(std::span<const Expr> roots, VariableId row, VariableId inner);

}  // namespace tvmvm::tensor
