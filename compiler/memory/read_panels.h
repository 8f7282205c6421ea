// Weights that stand in memory once: what products read in panels, gathers read there, too.
#pragma once

#include <string_view>

#include "compiler/graph/graph.h"
#include "compiler/schedules/schedule_cache.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::memory {

inline constexpr std::string_view kReadPanels = "read-panels";  // in --print-after and --disable-pass

// Constants that products pack and beside them nothing but gathers of few rows reads, such as an embedding
// that is the last product's weights too, are given to these gathers packed as well. A gathered row that lies
// across the panels' lines costs as much as the 16 rows of its panel. The module's groups are formed; all of
// it runs on the CPU. Errors: the schedules'.
Status ReadPanels(const TargetInfo& target, tensor::ScheduleCache* schedules, ir::Module* module);

}  // namespace tvmvm::memory
