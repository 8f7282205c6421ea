// The compiler, opened when it is first needed: running a packaged program never loads LLVM.
#pragma once

#include <cstdint>
#include <string>

#include "tvm-vm/compiler.h"
#include "tvm-vm/status.h"

namespace tvmvm::cli {

// Looked for beside the executable, in the folder of libraries that belongs to it, then where the loader
// looks. Stays open until the process ends. Errors: kNotFound with the loader's reason; kUnsupported where it
// is of another version.
Expected<const Compiler*> OpenCompiler();

// Whether a compiler library that says TVMVM_VERSION of its own is `version` can be called from here: they
// differ in the last number at most. Errors: kUnsupported naming both.
Status CheckCompilerVersion(uint32_t version, const std::string& path);

}  // namespace tvmvm::cli
