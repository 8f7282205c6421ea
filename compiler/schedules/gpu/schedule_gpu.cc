// Which schedule a group gets on a GPU.
#include "compiler/schedules/gpu/schedule_gpu.h"

#include <algorithm>

#include "compiler/schedules/gpu/work_items.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/small_sizes.h"

namespace tvmvm::tensor {

Expected<GroupProgram> ScheduleForGpu(const GroupView& group, const TargetInfo& target) {
  bool is_procedural = std::any_of(group.nodes().begin(), group.nodes().end(), [&](ir::NodeId id) {
    const ir::CoreOp* op = group.function().node(id).op;
    return op != nullptr && ir::BuildsLoops(op->kind);
  });
  if (is_procedural) {
    TVMVM_TRY(GroupProgram program, ScheduleProcedural(group, target));
    for (KernelCall& call : program.calls)
      if (call.kernel.GroupItems() == 1) GiveItemsToPoints(&call, &program);
    return program;
  }
  if (TakesAttentionForGpu(group)) return ScheduleAttentionForGpu(group, target);
  if (TakesProductForGpu(group)) return ScheduleProductForGpu(group, target);
  auto schedule = TakesExtremumForGpu(group) ? ScheduleExtremumForGpu
                  : TakesRowsForGpu(group)   ? ScheduleRowsForGpu
                                             : SchedulePullsForGpu;
  TVMVM_TRY(GroupProgram program, schedule(group, target));
  SplitBySize(group, &program);
  return program;
}

}  // namespace tvmvm::tensor
