// Placements of very many values of which many are alive together: O(n log n) time, O(n) memory.
#pragma once

#include "allocator/plan_values.h"

namespace tvmvm::planning {

// In the order of time, or against it: each value takes the smallest hole that holds it. `values` come in the
// order of their first position. Empty where `watch` stopped it.
Placement PlaceBySweep(const std::vector<Value>& values, bool backwards, Watch* watch);

// In the given order: each value lies on the highest of those before it that it meets.
Placement PlaceOnSkyline(const std::vector<Value>& values, const std::vector<uint32_t>& order, Watch* watch);

}  // namespace tvmvm::planning
