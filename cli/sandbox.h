// Runs in a process of their own (tvm-vm/sandbox.h).
#pragma once

#include "cli/model.h"
#include "cli/run_times.h"

namespace tvmvm::cli {

// Of what LoadModel gave: each is another process. Errors: those of SandboxedVm::Create; kUnsupported where
// this build has none.
Expected<Run> CreateSandbox(ProgramPointer program, const ModelArguments& model, bool is_compiled_here,
                            const LimitArguments& limits);

}  // namespace tvmvm::cli
