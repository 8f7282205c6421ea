// Whether a kernel stays within its buffers whatever is in them.
#pragma once

#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {

// True when no index of an access can be what memory says: what is loaded is brought between bounds that do
// not depend on memory, or on what was brought between bounds itself, before it becomes one: by minimum and
// maximum, or as a named value within an `if` that compares it. What the kernel itself has written to local
// or shared buffers is followed: one of several numbers that are bounded is bounded, a counter of what was
// found needs bounds of its own. Kernels that rely on what another kernel has checked, or counted, are not of
// this kind.
bool IndicesAreBounded(const LoopKernel& kernel);

}  // namespace tvmvm::tensor
