// Values of a plan that a caller's tensor in the GPU's memory can stand in for, so that nothing is copied.
#pragma once

#include <cstdint>
#include <vector>

#include "tvm-vm/program.h"
#include "vm/binding/extents.h"
#include "vm/binding/residency.h"

namespace tvmvm {

// By scalar register of the function: where the value at that offset is an input copied as a whole, and
// nothing else ever writes there, 1 + the input's number; where all that is left to do is to copy it to an
// output, 1 + the number of inputs + the output's number; else 0. The code was verified.
std::vector<uint32_t> StandInsOf(const Program& program, const FunctionSpec& function,
                                 const Residency& residency, const std::vector<Extent>& extents);

}  // namespace tvmvm
