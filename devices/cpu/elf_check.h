// Checks that a packed kernel library is what it must be before the system's loader sees it.
#pragma once

#include <cstddef>
#include <span>

#include "tvm-vm/status.h"

namespace tvmvm {

// A shared object for this machine that needs no other library, imports no symbol and runs no code when
// loaded. Errors: kInvalidProgram saying what was found. Every offset is checked against the size.
Status CheckKernelObject(std::span<const std::byte> object);

}  // namespace tvmvm
