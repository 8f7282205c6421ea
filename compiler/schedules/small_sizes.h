// Kernels for GPUs whose indices fit in 32 bits.
#pragma once

#include <span>

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// 1 where every size is within kSmallSize.
ir::Dim AreSmall(std::span<const ir::Dim> sizes);

// Gives each of the program's calls a kernel of small_sizes, and keeps the one for any sizes where dims may
// be large. Not for kernels in which a coordinate becomes an i64 element: there it may be multiplied by
// anything.
void SplitBySize(const GroupView& group, GroupProgram* program);

}  // namespace tvmvm::tensor
