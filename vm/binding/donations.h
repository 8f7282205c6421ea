// Which outputs of a function may be given in the memory of an input.
#pragma once

#include <vector>

#include "tvm-vm/program.h"
#include "tvm-vm/vm.h"

namespace tvmvm {

// What the `output` instructions of a verified function say, each output once.
std::vector<Donation> DonationsOf(const FunctionSpec& function);

}  // namespace tvmvm
