#include "compiler/schedules/schedule_cache.h"

#include <fmt/format.h>

#include <utility>

#include "compiler/schedules/group_signature.h"

namespace tvmvm::tensor {

Expected<std::shared_ptr<const GroupProgram>> ScheduleCache::Schedule(const ir::Function& function,
                                                                      ir::NodeId group,
                                                                      const TargetInfo& target) {
  ++counters_.schedules_asked;
  GroupSignature signature = SignatureOf(function, group, target);
  if (auto found = entries_.find(signature.text); found != entries_.end()) return found->second.program;
  ++counters_.schedules_made;
  Expected<GroupProgram> made = ScheduleGroup(function, group, target, overrides_);
  // An error names its node: the next one has another name.
  if (!made) return tl::unexpected(made.error());
  counters_.kernels_built += static_cast<int64_t>(made->calls.size());
  for (const KernelCall& call : made->calls)
    for (const KernelSchedule& schedule : call.schedules)
      chosen_.push_back({ScheduleTarget(target), schedule});
  auto program = std::make_shared<const GroupProgram>(*std::move(made));
  entries_.emplace(std::move(signature.text), Entry{program, std::move(signature.data)});
  return program;
}

}  // namespace tvmvm::tensor
