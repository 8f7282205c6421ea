#pragma once

#include <span>

#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::sandbox {

// Whether values are of the types that a signature has: number, kinds, element types, ranks, fixed dimensions
// and bounds. Symbols that dimensions share, and what is inside of tuples, are not looked at. Errors:
// kInvalidProgram naming the output.
Status CheckResults(std::span<const Value> values, std::span<const ParameterSpec> wanted);

}  // namespace tvmvm::sandbox
