// The memory planner: lifetimes and sizes in, offsets out. A pure function, used by the compiler (bounds) and
// by the VM.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tvm-vm/program.h"

namespace tvmvm {

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one for each value, multiples of its alignment
  int64_t total_bytes = 0;       // bytes of the arena
  int64_t lower_bound = 0;       // the largest sum of sizes alive at one position
};

// sizes[k] >= 0 is the byte size of spec.values[k]; values that are alive at a common position never overlap.
// Values of size 0 get offset 0. Deterministic. O(n^2) at worst in the number of values.
MemoryPlan PlanMemory(const PlanSpec& spec, std::span<const int64_t> sizes);

}  // namespace tvmvm
