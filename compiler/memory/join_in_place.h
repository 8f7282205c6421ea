// Concats without a kernel: what they join is made where it lies in the result.
#pragma once

#include <string_view>

#include "compiler/graph/graph.h"
#include "compiler/lowering/lower_module.h"

namespace tvmvm::memory {

inline constexpr std::string_view kJoinInPlace = "join-in-place";  // in --print-after and --disable-pass

// Marks concats of the entry function as `joined` where the parts lie together in the result, each of them is
// made by a kernel of its own, and a run holds no more for it. Where no concat comes into question, nothing
// is laid out. The module's groups are formed; all of it runs on the CPU.
void JoinInPlace(const lowering::LoweringOptions& options, tensor::ScheduleCache* schedules,
                 ir::Module* module);

}  // namespace tvmvm::memory
