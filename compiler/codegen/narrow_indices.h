#pragma once

#include "compiler/loops/loop_ir.h"

namespace tvmvm::codegen {

// Computes indices in 32 bits, which is what GPUs do in one instruction. For prepared and unrolled kernels
// whose `small_sizes` says that every index fits. What is made of loop variables, dims and constants becomes
// i32, and is divided as unsigned where it cannot be negative; what is read from memory keeps its type. The
// result is for printers: VerifyLoops wants indices in 64 bits.
tensor::LoopKernel NarrowIndices(const tensor::LoopKernel& kernel);

}  // namespace tvmvm::codegen
