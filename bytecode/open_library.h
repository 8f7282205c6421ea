// Shared libraries that are opened at run time.
#pragma once

#include "tvm-vm/status.h"

namespace tvmvm {

// As dlopen, with symbols bound at once and nobody else's. Errors: kNotFound with what the system's loader
// says; kOutOfMemory.
Expected<void*> OpenLibrary(const char* name);

}  // namespace tvmvm
