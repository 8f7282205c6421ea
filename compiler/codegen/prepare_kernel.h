// What every printer does to loop IR first.
#pragma once

#include "compiler/loops/loop_ir.h"

namespace tvmvm::codegen {

// Loads are safe to execute always, kVectorized loops are gone, math functions are arithmetic, and dims are
// variables that are bound at the start.
tensor::LoopKernel PrepareKernel(const tensor::LoopKernel& kernel, tensor::MathTarget target = {});

// Writes out kUnrolled loops, with the variable's value in place, so that expressions fold. For printers
// whose compilers see constants best when they are written down.
tensor::LoopKernel UnrollLoops(const tensor::LoopKernel& kernel);

}  // namespace tvmvm::codegen
