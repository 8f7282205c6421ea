// How many bytes of an arena a launch touches behind an offset: the size of the value that the plan put
// there.
#pragma once

#include <cstdint>
#include <vector>

#include "tvm-vm/program.h"

namespace tvmvm {

// What a scalar register is, where it is an offset of a plan.
struct Extent {
  static constexpr uint32_t kUnknown = UINT32_MAX;
  uint32_t arena = kUnknown;  // the reference register of the plan's memory on the GPU
  uint32_t size = 0;          // the scalar register with the size of the value
};

// By scalar register of the function. Only registers that one instruction alone writes count: offset and size
// of a value are then always of the same plan. The code was verified.
std::vector<Extent> ExtentsOf(const FunctionSpec& function);

}  // namespace tvmvm
