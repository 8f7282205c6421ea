// What a function runs, in order: its nodes as steps, with the kernels of each and a position on one time
// line that goes through all regions. Memory is planned on these positions.
#pragma once

#include <memory>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/lowering/kernel_table.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/loops/outline_loop.h"
#include "tvm-vm/status.h"

namespace tvmvm::lowering {

enum class StepKind : uint8_t {
  kLaunch,
  kDefineDims,
  kDimsTensor,
  kTransfer,
  kJoin,  // a concat in the memory of its first input
  kHost,
  kCall,
  kIf,
  kLoop,
  kOutlinedLoop
};

struct RegionSteps;

struct Step {
  StepKind kind = StepKind::kLaunch;
  ir::NodeId node;
  uint32_t device = kHostDevice;  // where it runs
  // kLaunch: one for each target of the device
  std::vector<std::shared_ptr<const tensor::GroupProgram>> programs;
  std::vector<KernelUse> uses;           // kLaunch: one for each call of a program
  std::vector<RegionSteps> regions;      // kIf: then, else; kLoop: the body
  uint32_t first = 0, last = 0;          // positions, those of the regions included
  std::optional<OutlinedLoop> outlined;  // kOutlinedLoop
  KernelUse outlined_use;                // kOutlinedLoop
  std::vector<int> workspaces;           // kLaunch: numbers in the memory table; kOutlinedLoop: its state
  int stage = 0;                         // begins after the step; 0: none does
};

struct RegionSteps {
  ir::RegionId region;
  std::vector<Step> steps;
  uint32_t end = 0;  // position of what happens after the steps: results are moved to where they belong
  int stage = 0;     // begins with the region; 0: none does
};

// Chooses schedules for everything in the body of a function; kernels go into the table. Errors: kUnsupported
// or kInternal naming the source node.
Expected<RegionSteps> ScheduleSteps(const ir::Function& function, const ir::RangeLookup& ranges,
                                    const LoweringOptions& options, KernelTable* kernels,
                                    tensor::ScheduleCache* schedules);

// Position 0 is the function's entry, the first step has position 1.
inline constexpr uint32_t kEntryPosition = 0;

}  // namespace tvmvm::lowering
