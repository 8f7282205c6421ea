#include "cli/sandbox.h"

#include "cli/files.h"

#if TVMVM_HAS_SANDBOX

#include "tvm-vm/sandbox.h"

namespace tvmvm::cli {

Expected<Run> CreateSandbox(ProgramPointer program, const ModelArguments& model, bool is_compiled_here,
                            const LimitArguments& limits) {
  SandboxOptions options;
  if (model.threads > 0) options.threads = model.threads;
  const Limits given = LimitsOf(limits);
  if (given.max_bytes > 0) options.max_bytes = given.max_bytes;
  if (given.timeout.count() > 0) options.timeout = given.timeout;
  options.max_steps = given.max_steps;
  const bool is_file = !is_compiled_here && !IsStandard(model.path);
  TVMVM_TRY(std::shared_ptr<SandboxedVm> vm, is_file ? SandboxedVm::Create(model.path, options)
                                                     : SandboxedVm::Create(std::move(program), options));
  return [vm](std::span<const Value> inputs, std::span<Value> outputs) { return vm->Run(inputs, outputs); };
}

}  // namespace tvmvm::cli

#else

namespace tvmvm::cli {

Expected<Run> CreateSandbox(ProgramPointer, const ModelArguments&, bool, const LimitArguments&) {
  return MakeError(Code::kUnsupported, "--sandbox: this build has no sandbox");
}

}  // namespace tvmvm::cli

#endif
