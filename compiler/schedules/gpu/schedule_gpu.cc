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

RowShares SharesOfRow(const ir::Dim& rows, const ir::Dim& row, int64_t busy_groups, int64_t shortest,
                      int64_t items) {
  using ir::Dim;
  const Dim wanted = Min(CeilDiv(Dim(busy_groups), Max(rows, Dim(1))), FloorDiv(row, Dim(shortest)));
  const Dim length = CeilDiv(CeilDiv(row, Max(wanted, Dim(1))), Dim(items)) * Dim(items);
  return {CeilDiv(row, Max(length, Dim(1))), length};
}

}  // namespace tvmvm::tensor
