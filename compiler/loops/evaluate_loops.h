// The oracle for generated code: runs loop IR one statement and one lane at a time, slowly, with every access
// checked.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "bytecode/kernel_abi.h"
#include "compiler/loops/loop_ir.h"
#include "tvm-vm/status.h"

namespace tvmvm::tensor {

struct EvaluateOptions {
  // False: a Select evaluates the chosen side only, as in kernels before GuardLoads. True: both sides are
  // evaluated and must not fault, which is what generated code does.
  bool eager_select = false;
  int64_t max_steps = int64_t{1} << 32;  // statements
};

// Runs the whole grid over the argument buffers' memory (elements as in KernelArgs) and gives the kernel's
// return code. Dims are evaluated with `symbols`. Errors: kInvalidArgument for an unknown symbol or a missing
// buffer; kInternal for what no kernel may do: an access out of bounds, a read of a local element that was
// never written, a division by 0.
Expected<int32_t> EvaluateLoops(const LoopKernel& kernel, std::span<const std::span<std::byte>> buffers,
                                const std::function<std::optional<int64_t>(const ir::SymbolId&)>& symbols,
                                const EvaluateOptions& options = {});

}  // namespace tvmvm::tensor
