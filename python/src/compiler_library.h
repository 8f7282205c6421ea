// The compiler, where it was opened.
#pragma once

#include "tvm-vm/compiler.h"

namespace tvmvm::python {

// Null: nobody opened it yet.
const Compiler* OpenedCompiler();

}  // namespace tvmvm::python
