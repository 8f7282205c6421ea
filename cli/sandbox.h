// Runs in a process of their own (tvm-vm/sandbox.h).
#pragma once

#include <functional>
#include <span>

#include "cli/model.h"

namespace tvmvm::cli {

// As Invocation::Run.
using SandboxRun = std::function<Status(std::span<const Value> inputs, std::span<Value> outputs)>;

// Of what LoadModel gave. Errors: those of SandboxedVm::Create; kUnsupported where this build has none.
Expected<SandboxRun> CreateSandbox(ProgramPointer program, const ModelArguments& model, bool is_compiled_here,
                                   const LimitArguments& limits);

}  // namespace tvmvm::cli
