// What a window node says, by name.
#pragma once

#include <cstdint>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

// Whether the windows slide along the data's innermost axis, over rows long enough for vectors, and share
// elements or padding with their neighbours: then a kernel for CPUs that brings rows into scratch and
// combines along one axis after the other (schedules/cpu/windows/schedule_window_planar.cc) beats one that
// reads each element where it lies. A pure function of types and attributes.
bool SlidesAlongRows(const Function& function, const Node& window);

}  // namespace tvmvm::ir
