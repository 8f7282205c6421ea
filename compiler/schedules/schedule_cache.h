// Schedules, each made once: placement, the outliner and the lowering ask for the same groups.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/graph/compile_counters.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {

// Not thread-safe. What it gives stays as long as somebody holds it.
class ScheduleCache {
 public:
  // `counters` and `overrides` outlive the cache; all that it holds was made with the one set of overrides.
  explicit ScheduleCache(ir::CompileCounters* counters, const ScheduleOverrides* overrides = nullptr)
      : counters_(*counters), overrides_(overrides) {}
  ScheduleCache(const ScheduleCache&) = delete;
  ScheduleCache& operator=(const ScheduleCache&) = delete;

  // As ScheduleGroup, once for all groups of one signature.
  Expected<std::shared_ptr<const GroupProgram>> Schedule(const ir::Function& function, ir::NodeId group,
                                                         const TargetInfo& target);
  ir::CompileCounters& counters() { return counters_; }
  // What was chosen for all kernels, in the order in which they were asked for.
  const std::vector<TargetSchedule>& chosen() const { return chosen_; }

 private:
  struct Entry {
    std::shared_ptr<const GroupProgram> program;
    std::vector<std::shared_ptr<const ir::TensorData>>
        data;  // constants of the signature: it holds addresses
  };

  ir::CompileCounters& counters_;
  const ScheduleOverrides* overrides_;
  std::vector<TargetSchedule> chosen_;
  std::map<std::string, Entry> entries_;
};

}  // namespace tvmvm::tensor
