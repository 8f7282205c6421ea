// Compiles the LLVM bitcode of packed kernels for the CPU that runs.
#pragma once

#include <memory>

#include "tvm-vm/device.h"

namespace tvmvm::jit {

// Thread-safe. Errors of Compile: kInvalidProgram for bitcode that LLVM refuses or that lacks a symbol.
std::unique_ptr<KernelJit> MakeJit();

}  // namespace tvmvm::jit
