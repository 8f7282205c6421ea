// What a function will hold of memory, and what it will cost, before anything is generated: for passes that
// make it hold less.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/lowering/lower_module.h"

namespace tvmvm::lowering {

// A place in an arena of the host.
struct HeldPlace {
  ir::Dim bytes;
  uint32_t first = 0, last = 0;     // positions
  int stage = 0;                    // places of one stage are planned together
  std::vector<ir::ValueId> values;  // that lie there; none: a kernel's workspace
};

// Work of a launch that happens where `when` is not 0.
struct PlannedWork {
  ir::Dim when, flops, bytes;
};

struct MemoryOutline {
  std::vector<HeldPlace> places;
  std::vector<ir::Dim> tensors;      // bytes of what has memory of its own, outputs of the function among it
  std::vector<ir::ValueId> unknown;  // has memory of a size that nothing tells
  std::vector<ir::NodeId> nodes;     // by position: the step there; none: no step
  std::vector<PlannedWork> work;     // of all launches outside of loops, and of one turn of each loop
};

// Schedules the functions's body and lays out its memory as LowerModule does. Errors: those of ScheduleSteps.
Expected<MemoryOutline> OutlineMemory(const ir::Module& module, const ir::Function& function,
                                      const LoweringOptions& options, tensor::ScheduleCache* schedules);

}  // namespace tvmvm::lowering
