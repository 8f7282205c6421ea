// The compiler, opened when it is first needed: running a packaged program never loads LLVM.
#pragma once

#include "tvm-vm/compiler.h"
#include "tvm-vm/status.h"

namespace tvmvm::cli {

// Looked for beside the executable, in ../lib from there, then where the loader looks. Stays open until the
// process ends. Errors: kNotFound with the loader's reason.
Expected<const Compiler*> OpenCompiler();

}  // namespace tvmvm::cli
