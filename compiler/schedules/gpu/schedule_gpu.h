// Schedules whose grid points are work-groups; ScheduleForGpu chooses.
#pragma once

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// Anything made of pulls: a work-item computes an element of the output (as many as share a byte), reductions
// one after the other.
Expected<GroupProgram> SchedulePullsForGpu(const GroupView& group, const TargetInfo& target);

// Reductions with elementwise operators around them (row_shape.h).
bool TakesRowsForGpu(const GroupView& group);
Expected<GroupProgram> ScheduleRowsForGpu(const GroupView& group, const TargetInfo& target);
// Groups around attention (graph/attention_group.h), whose factors may be f16.
bool TakesAttentionForGpu(const GroupView& group);
Expected<GroupProgram> ScheduleAttentionForGpu(const GroupView& group, const TargetInfo& target);
// The position of the least or the largest element of rows.
bool TakesExtremumForGpu(const GroupView& group);
Expected<GroupProgram> ScheduleExtremumForGpu(const GroupView& group, const TargetInfo& target);
// Contractions, and convolutions in one group.
bool TakesProductForGpu(const GroupView& group);
Expected<GroupProgram> ScheduleProductForGpu(const GroupView& group, const TargetInfo& target);

// What several groups take of a row each.
struct RowShares {
  ir::Dim count = 1, length = 0;  // of elements
};
// So many that all rows keep `busy_groups` busy, of `shortest` elements at least, whole multiples of the
// items of a group.
RowShares SharesOfRow(const ir::Dim& rows, const ir::Dim& row, int64_t busy_groups, int64_t shortest,
                      int64_t items);

}  // namespace tvmvm::tensor
