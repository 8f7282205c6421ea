// The way out of a kernel and back to the question whether its run is to end.
#pragma once

#include "bytecode/kernel_abi.h"

namespace tvmvm {

// What a KernelPoll may have as `ask`: gives what `answer` gives and, where kernel_abi.h wants that, keeps
// the registers.
extern "C" int32_t TvmvmAskKeepingRegisters(KernelPoll* poll);

}  // namespace tvmvm
