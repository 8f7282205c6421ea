// The memory planner: lifetimes and sizes in, offsets out. A pure function.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm {

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one for each value, multiples of its alignment
  int64_t total_bytes = 0;       // bytes of the arena
  // No plan needs less: the largest sum at one position of the sizes alive there, each rounded up to the
  // smallest alignment in the plan, 64 bytes at most (but for one, whose end nothing follows).
  int64_t lower_bound = 0;
};

// sizes[k] >= 0 is the byte size of spec.values[k]; values that are alive at a common position never overlap.
// Values of size 0 get offset 0. Deterministic. The best of several greedy placements; of up to eight values
// the best there is. Time O(n log n), memory O(n): 65,536 values take some ten milliseconds a placement.
MemoryPlan PlanMemory(const PlanSpec& spec, std::span<const int64_t> sizes);
// The same for plans that may take long: `cancelled` is asked every millisecond or so. Errors: kCancelled.
Expected<MemoryPlan> PlanMemory(const PlanSpec& spec, std::span<const int64_t> sizes,
                                const std::function<bool()>& cancelled);

// Arenas that are there already, as one row of bytes: the first one begins at 0, each other one, and behind
// them the new one, where this says. A value lies within one of them.
constexpr int64_t ArenaBehind(int64_t end) { return (end | 4095) + 1; }
// A plan of values of which the first ones have their places, and whose others may lie in arenas that are
// there. `numbers`: the sizes of all values, how many have places, these, then the ends of the arenas, at
// least one; places, ends and the plan's offsets are in that row. total_bytes: of the new arena, which is no
// larger than if there were no other.
Expected<MemoryPlan> PlanAmong(const PlanSpec& spec, std::span<const int64_t> numbers,
                               const std::function<bool()>& cancelled);

// MemoryPlan::lower_bound alone, in O(n log n).
int64_t LowerBound(const PlanSpec& spec, std::span<const int64_t> sizes);

}  // namespace tvmvm
