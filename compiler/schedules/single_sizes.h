// Groups whose innermost sizes, known only when they are launched, may be 1: then what schedules take for
// many neighbours is none, and the axes outside are the neighbours.
#pragma once

#include <functional>

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// The program that `schedule` makes of the group; where it may join tensors in runs of single elements, or
// reduce an axis with a single element inside of it, with further kernels for such launches, made of the
// group as it is then.
Expected<GroupProgram> ScheduleSingleSizes(
    const GroupView& group, const std::function<Expected<GroupProgram>(const GroupView&)>& schedule);

}  // namespace tvmvm::tensor
