// Schedules, each made once: placement, the outliner and the lowering ask for the same groups.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/graph/compile_counters.h"
#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// Not thread-safe. What it gives stays as long as somebody holds it.
class ScheduleCache {
 public:
  // `counters` outlives the cache.
  explicit ScheduleCache(ir::CompileCounters* counters) : counters_(*counters) {}
  ScheduleCache(const ScheduleCache&) = delete;
  ScheduleCache& operator=(const ScheduleCache&) = delete;

  // As ScheduleGroup, once for all groups of one signature.
  Expected<std::shared_ptr<const GroupProgram>> Schedule(const ir::Function& function, ir::NodeId group,
                                                         const TargetInfo& target);
  ir::CompileCounters& counters() { return counters_; }

 private:
  struct Entry {
    std::shared_ptr<const GroupProgram> program;
    std::vector<std::shared_ptr<const ir::TensorData>>
        data;  // constants of the signature: it holds addresses
  };

  ir::CompileCounters& counters_;
  std::map<std::string, Entry> entries_;
};

}  // namespace tvmvm::tensor
