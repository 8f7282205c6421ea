// Kernels of serial grid points as kernels for GPUs.
#pragma once

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// Work-items of a group where nothing speaks for another number.
inline constexpr int kGroupItems = 64;

// Makes the group one-dimensional: thread[0] runs to `items`. Gives the number of the work-item among all of
// the grid, for a grid that counts groups along x only.
Expr OneDimensionalGroup(LoopKernel* kernel, int items);

// Each grid point of the call's kernel becomes a work-item of its own, and its scratch a part of a workspace
// that is added to the program. The kernel has groups of one.
void GiveItemsToPoints(KernelCall* call, GroupProgram* program);

}  // namespace tvmvm::tensor
