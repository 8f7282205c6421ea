// The inputs that a run is given for a signature.
#pragma once

#include <vector>

#include "cli/options.h"
#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::cli {

// One value for each input of `main`, in order: read from files or made at random as `arguments` say; with
// no inputs given all are made. `max_bytes`: of what is unpacked; 0: any. Errors name the input, what was
// found and what is wanted.
Expected<std::vector<Value>> MakeInputs(const FunctionSpec& main, const InputArguments& arguments,
                                        int64_t max_bytes = 0);

}  // namespace tvmvm::cli
