// Loops over constants made plain: for kernels put together from parts whose sizes became known.
#pragma once

#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {

// Lets bound to constants and variables are replaced by these; conditions that are decided, loops that run
// never or once, and elements stored where they were loaded from, go; short innermost loops become kUnrolled.
// Null where nothing is left.
StmtPtr SimplifyLoops(const StmtPtr& root);

}  // namespace tvmvm::tensor
