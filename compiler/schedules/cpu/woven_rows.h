// Rows of a few that lie side by side: a vector holds some steps of all of them, as they lie in memory, so
// that it is full however few they are. Each lane belongs to one row; what the lanes of a row have is
// combined at the end, and given to all of them.
#pragma once

#include "compiler/schedules/group.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

// A kernel for all outputs of the group, whose axes are collapsed, and when it is the one to launch; without
// loops where that is never.
Expected<KernelCall> BuildWovenRows(const GroupView& group, const TargetInfo& target);

}  // namespace tvmvm::tensor
