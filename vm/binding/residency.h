// Which inputs and outputs of a function may stay in a GPU's memory during a run.
#pragma once

#include <vector>

#include "tvm-vm/program.h"

namespace tvmvm {

struct Residency {
  std::vector<bool> inputs;   // only copied from, element by element read, or asked for their dims
  std::vector<bool> outputs;  // made once, only copied to, and given
};

Residency ResidencyOf(const FunctionSpec& function);

}  // namespace tvmvm
