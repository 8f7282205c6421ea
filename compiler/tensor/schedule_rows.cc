#include "compiler/tensor/group.h"

namespace tvmvm::tensor {

bool TakesRows(const GroupView&) { return false; }

Expected<GroupProgram> ScheduleRows(const GroupView& group, const TargetInfo& target) {
  return ScheduleGeneric(group, target);
}

}  // namespace tvmvm::tensor
