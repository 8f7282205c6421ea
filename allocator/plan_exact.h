// The best placement of a handful of values.
#pragma once

#include "allocator/plan_values.h"

namespace tvmvm::planning {

inline constexpr size_t kMostExactValues = 8;

// A placement below `best`'s total where there is one, else `best`. Looks at orders from the lowest value to
// the highest, in which some best placement stands, and drops what cannot be better; ends at `bound`, which
// no placement is below.
Placement PlaceExactly(const std::vector<Value>& values, int64_t bound, Placement best);

}  // namespace tvmvm::planning
