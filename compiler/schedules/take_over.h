// Whether what a group makes may lie in the memory of what it reads.
#pragma once

#include <vector>

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// A launch of the program's calls may be given one memory for output `written` and for those inputs that
// `read` says, which are as large: each element is read before it is written, by whichever call, and never
// afterwards. For CPUs.
bool CanTakeOver(const GroupView& group, const GroupProgram& program, const std::vector<bool>& read,
                 uint32_t written);

}  // namespace tvmvm::tensor
