// The pass that makes a module's memory fit a budget: nodes run later, run again or run in stretches until
// the plan is small enough.
#pragma once

#include "compiler/lowering/lower_module.h"
#include "compiler/schedules/schedule_overrides.h"
#include "tvm-vm/compiler.h"

namespace tvmvm::memory {

// Changes the entry function until a run of it on the CPU holds at most `budget` bytes, at the largest sizes
// that dims may have. Errors: kOutOfMemory with the least that was reached and what is alive there,
// kInvalidArgument naming a dim that nothing bounds, kUnsupported where sizes depend on data or functions
// call each other.
Expected<MemoryReport> FitBudget(int64_t budget, const lowering::LoweringOptions& options,
                                 const tensor::ScheduleOverrides& overrides, ir::Module* module);

}  // namespace tvmvm::memory
