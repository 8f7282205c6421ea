#include "tvm-vm/c_sandbox.h"

#include <chrono>
#include <memory>
#include <utility>

#include "tvm-vm/sandbox.h"
#include "vm/c/objects.h"
#include "vm/c/run_space.h"
#include "vm/c/sized.h"

using tvmvm::SandboxedVm;
using tvmvm::SandboxOptions;
using tvmvm::Status;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;
using tvmvm::c::ReadSized;

struct tvmvm_sandboxed_vm {
  std::unique_ptr<SandboxedVm> vm;
  tvmvm::c::RunSpace space;
};

namespace {

tvmvm::Expected<SandboxOptions> OptionsFrom(const tvmvm_sandbox_options* options) {
  SandboxOptions chosen;
  if (options == nullptr) return chosen;
  TVMVM_TRY(const tvmvm_sandbox_options read, ReadSized(*options, sizeof *options, "options"));
  TVMVM_CHECK_OK(tvmvm::c::CheckNotNegative({{read.max_bytes, "options.max_bytes"},
                                             {read.timeout_ns, "options.timeout_ns"},
                                             {read.threads, "options.threads"},
                                             {read.max_call_depth, "options.max_call_depth"},
                                             {read.max_steps, "options.max_steps"},
                                             {read.start_timeout_ns, "options.start_timeout_ns"}}));
  if (read.max_bytes > 0) chosen.max_bytes = read.max_bytes;
  if (read.timeout_ns > 0) chosen.timeout = std::chrono::nanoseconds(read.timeout_ns);
  if (read.runner != nullptr) chosen.runner = read.runner;
  if (read.threads > 0) chosen.threads = read.threads;
  if (read.max_call_depth > 0) chosen.max_call_depth = read.max_call_depth;
  if (read.start_timeout_ns > 0) chosen.start_timeout = std::chrono::nanoseconds(read.start_timeout_ns);
  chosen.max_steps = read.max_steps;
  return chosen;
}

// Calls `body` with the sandboxed VM, which nobody else uses meanwhile.
tvmvm_status* InTurn(tvmvm_sandboxed_vm* self, tvmvm::c::Body body) {
  return tvmvm::c::InTurn(self != nullptr ? &self->space : nullptr, "sandboxed VM", body);
}

}  // namespace

extern "C" {

tvmvm_status* tvmvm_sandboxed_vm_create(const char* path, const tvmvm_sandbox_options* options,
                                        tvmvm_sandboxed_vm** vm) {
  return Guarded([&]() -> Status {
    if (path == nullptr || vm == nullptr) return NullArgument("path or vm");
    TVMVM_TRY(const SandboxOptions chosen, OptionsFrom(options));
    TVMVM_TRY(auto created, SandboxedVm::Create(path, chosen));
    *vm = new tvmvm_sandboxed_vm{std::move(created), {}};
    return {};
  });
}
tvmvm_status* tvmvm_sandboxed_vm_create_from_program(const tvmvm_program* program,
                                                     const tvmvm_sandbox_options* options,
                                                     tvmvm_sandboxed_vm** vm) {
  return Guarded([&]() -> Status {
    if (program == nullptr || vm == nullptr) return NullArgument("program or vm");
    TVMVM_TRY(const SandboxOptions chosen, OptionsFrom(options));
    TVMVM_TRY(auto created, SandboxedVm::Create(program->program, chosen));
    *vm = new tvmvm_sandboxed_vm{std::move(created), {}};
    return {};
  });
}
void tvmvm_sandboxed_vm_free(tvmvm_sandboxed_vm* vm) { delete vm; }
tvmvm_status* tvmvm_sandboxed_vm_program(const tvmvm_sandboxed_vm* vm, tvmvm_program** program) {
  return Guarded([&]() -> Status {
    if (vm == nullptr || program == nullptr) return NullArgument("vm or program");
    *program = new tvmvm_program{vm->vm->shared_program()};
    return {};
  });
}
tvmvm_status* tvmvm_sandboxed_vm_run(tvmvm_sandboxed_vm* vm, const tvmvm_run_options* options,
                                     const tvmvm_tensor* const* inputs, size_t input_count,
                                     tvmvm_tensor** outputs, size_t output_count) {
  return InTurn(vm, [&]() -> Status {
    tvmvm::c::RunSpace& space = vm->space;
    return tvmvm::c::RunWithTensors(&space, options, inputs, input_count, outputs, output_count,
                                    [&] { return vm->vm->Run(space.inputs, space.outputs, space.options); });
  });
}
tvmvm_status* tvmvm_sandboxed_vm_run_values(tvmvm_sandboxed_vm* vm, const tvmvm_run_options* options,
                                            const tvmvm_value* const* inputs, size_t input_count,
                                            tvmvm_value** outputs, size_t output_count) {
  return InTurn(vm, [&]() -> Status {
    tvmvm::c::RunSpace& space = vm->space;
    return tvmvm::c::RunWithValues(&space, options, inputs, input_count, outputs, output_count, [&] {
      return vm->vm->Run(space.value_inputs, space.value_outputs, space.options);
    });
  });
}
void tvmvm_sandboxed_vm_cancel(tvmvm_sandboxed_vm* vm) {
  if (vm != nullptr) vm->vm->Cancel();
}
tvmvm_status* tvmvm_sandboxed_vm_get_counters(const tvmvm_sandboxed_vm* vm, tvmvm_run_counters* counters) {
  return Guarded([&]() -> Status {
    if (vm == nullptr || counters == nullptr) return NullArgument("vm or counters");
    return tvmvm::c::WriteCounters(vm->vm->counters(), counters);
  });
}
int64_t tvmvm_sandboxed_vm_starts(const tvmvm_sandboxed_vm* vm) {
  return vm != nullptr ? vm->vm->starts() : 0;
}

}  // extern "C"
