// The libraries that the runtime opens when a program first needs them: in the runner they are opened before
// it may open nothing any more, for programs that need them.
#pragma once

#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm::sandbox {

// Whether a function of the program matches regular expressions or decodes pictures.
bool NeedsCompanions(const Program& program);
// Opens both. Errors: kUnsupported where one is not there.
Status OpenCompanions();

}  // namespace tvmvm::sandbox
