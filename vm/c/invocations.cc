// The functions of c_api.h for invocations.
#include <algorithm>
#include <chrono>
#include <string>

#include "vm/c/objects.h"
#include "vm/c/sized.h"

using tvmvm::Status;
using tvmvm::c::CheckNotNegative;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;
using tvmvm::c::ReadSized;

namespace {

tvmvm_status* InTurn(tvmvm_invocation* self, tvmvm::c::Body body) {
  return tvmvm::c::InTurn(self != nullptr ? &self->space : nullptr, "invocation", body);
}

}  // namespace

extern "C" {

tvmvm_status* tvmvm_invocation_create(const tvmvm_vm* vm, tvmvm_invocation** invocation) {
  return Guarded([&]() -> Status {
    if (vm == nullptr || invocation == nullptr) return NullArgument("vm or invocation");
    *invocation = new tvmvm_invocation{vm->program, vm->vm->NewInvocation(), {}};
    return {};
  });
}
void tvmvm_invocation_free(tvmvm_invocation* invocation) { delete invocation; }
tvmvm_status* tvmvm_run_cancel_create(tvmvm_run_cancel** cancel) {
  return Guarded([&]() -> Status {
    if (cancel == nullptr) return NullArgument("cancel");
    *cancel = new tvmvm_run_cancel;
    return {};
  });
}
void tvmvm_run_cancel_request(tvmvm_run_cancel* cancel) {
  if (cancel != nullptr) cancel->source.request_stop();
}
void tvmvm_run_cancel_free(tvmvm_run_cancel* cancel) { delete cancel; }
tvmvm_status* tvmvm_invocation_run(tvmvm_invocation* invocation, const tvmvm_tensor* const* inputs,
                                   size_t input_count, tvmvm_tensor** outputs, size_t output_count) {
  return tvmvm_invocation_run_with(invocation, nullptr, inputs, input_count, outputs, output_count);
}
tvmvm_status* tvmvm_invocation_run_values(tvmvm_invocation* invocation, const tvmvm_value* const* inputs,
                                          size_t input_count, tvmvm_value** outputs, size_t output_count) {
  return tvmvm_invocation_run_values_with(invocation, nullptr, inputs, input_count, outputs, output_count);
}
tvmvm_status* tvmvm_invocation_run_with(tvmvm_invocation* invocation, const tvmvm_run_options* options,
                                        const tvmvm_tensor* const* inputs, size_t input_count,
                                        tvmvm_tensor** outputs, size_t output_count) {
  return InTurn(invocation, [&]() -> Status {
    tvmvm::c::RunSpace& space = invocation->space;
    return tvmvm::c::RunWithTensors(&space, options, inputs, input_count, outputs, output_count, [&] {
      return invocation->invocation.Run(space.inputs, space.outputs, space.options);
    });
  });
}
tvmvm_status* tvmvm_invocation_run_values_with(tvmvm_invocation* invocation, const tvmvm_run_options* options,
                                               const tvmvm_value* const* inputs, size_t input_count,
                                               tvmvm_value** outputs, size_t output_count) {
  return InTurn(invocation, [&]() -> Status {
    tvmvm::c::RunSpace& space = invocation->space;
    return tvmvm::c::RunWithValues(&space, options, inputs, input_count, outputs, output_count, [&] {
      return invocation->invocation.Run(space.value_inputs, space.value_outputs, space.options);
    });
  });
}
tvmvm_status* tvmvm_invocation_apply_limits(tvmvm_invocation* invocation, const tvmvm_limits* limits) {
  return InTurn(invocation, [&]() -> Status {
    if (limits == nullptr) return NullArgument("limits");
    TVMVM_TRY(const tvmvm_limits read, ReadSized(*limits, sizeof *limits, "limits"));
    TVMVM_CHECK_OK(CheckNotNegative({{read.max_bytes, "limits.max_bytes"},
                                     {read.max_steps, "limits.max_steps"},
                                     {read.timeout_ns, "limits.timeout_ns"},
                                     {read.max_call_depth, "limits.max_call_depth"}}));
    tvmvm::Limits chosen;
    chosen.max_bytes = read.max_bytes;
    chosen.max_steps = read.max_steps;
    chosen.timeout = std::chrono::nanoseconds(read.timeout_ns);
    if (read.max_call_depth > 0) chosen.max_call_depth = read.max_call_depth;
    invocation->invocation.SetLimits(chosen);
    return {};
  });
}
void tvmvm_invocation_set_limits(tvmvm_invocation* invocation, int64_t max_bytes, int64_t max_steps,
                                 int64_t timeout_ns) {
  const tvmvm_limits limits = {.size = sizeof limits,
                               .max_bytes = std::max<int64_t>(max_bytes, 0),
                               .max_steps = std::max<int64_t>(max_steps, 0),
                               .timeout_ns = std::max<int64_t>(timeout_ns, 0),
                               .max_call_depth = 0};
  tvmvm_status_free(tvmvm_invocation_apply_limits(invocation, &limits));
}
void tvmvm_invocation_cancel(tvmvm_invocation* invocation) {
  if (invocation != nullptr) invocation->invocation.Cancel();
}
int64_t tvmvm_invocation_peak_bytes(const tvmvm_invocation* invocation) {
  return invocation != nullptr ? invocation->invocation.peak_bytes() : 0;
}
int64_t tvmvm_invocation_held_bytes(const tvmvm_invocation* invocation) {
  return invocation != nullptr ? invocation->invocation.held_bytes() : 0;
}
void tvmvm_invocation_trim(tvmvm_invocation* invocation) {
  tvmvm_status_free(InTurn(invocation, [&]() -> Status {
    invocation->invocation.Trim();
    return {};
  }));
}
tvmvm_status* tvmvm_invocation_set_trim_policy(tvmvm_invocation* invocation,
                                               const tvmvm_trim_policy* policy) {
  return InTurn(invocation, [&]() -> Status {
    if (policy == nullptr) return NullArgument("policy");
    TVMVM_TRY(const tvmvm_trim_policy read, ReadSized(*policy, sizeof *policy, "policy"));
    TVMVM_CHECK_OK(CheckNotNegative({{read.runs, "policy.runs"},
                                     {read.idle_ns, "policy.idle_ns"},
                                     {read.held_bytes, "policy.held_bytes"}}));
    tvmvm::TrimPolicy chosen;
    chosen.runs = read.runs;
    chosen.idle = std::chrono::nanoseconds(read.idle_ns);
    chosen.held_bytes = read.held_bytes;
    return invocation->invocation.SetTrimPolicy(chosen);
  });
}

tvmvm_status* tvmvm_invocation_observe_launches(tvmvm_invocation* invocation, tvmvm_launch_observer observer,
                                                void* context) {
  return InTurn(invocation, [&]() -> Status {
    tvmvm::LaunchObserver told;
    if (observer != nullptr)
      told = [program = invocation->program, observer, context](const tvmvm::LaunchRecord& launch) {
        const std::string node(program->SourceNode(program->function(launch.function), launch.word));
        const tvmvm_launch_record record = {.size = sizeof record,
                                            .kernel = program->kernels[launch.kernel.index].name.c_str(),
                                            .source_node = node.c_str(),
                                            .begin_ns = launch.begin_ns,
                                            .end_ns = launch.end_ns,
                                            .flops = launch.flops,
                                            .bytes = launch.bytes,
                                            .grid = launch.grid,
                                            .device = static_cast<int>(launch.device)};
        observer(context, &record);
      };
    invocation->invocation.SetLaunchObserver(std::move(told));
    return {};
  });
}
tvmvm_status* tvmvm_invocation_observe_copies(tvmvm_invocation* invocation, tvmvm_copy_observer observer,
                                              void* context) {
  return InTurn(invocation, [&]() -> Status {
    tvmvm::CopyObserver told;
    if (observer != nullptr)
      told = [observer, context](const tvmvm::CopyRecord& copy) {
        const tvmvm_copy_record record = {.size = sizeof record,
                                          .from_device = static_cast<int>(copy.from),
                                          .to_device = static_cast<int>(copy.to),
                                          .begin_ns = copy.begin_ns,
                                          .end_ns = copy.end_ns,
                                          .bytes = copy.bytes};
        observer(context, &record);
      };
    invocation->invocation.SetCopyObserver(std::move(told));
    return {};
  });
}
tvmvm_status* tvmvm_invocation_observe_trace(tvmvm_invocation* invocation, tvmvm_trace_observer observer,
                                             void* context) {
  return InTurn(invocation, [&]() -> Status {
    tvmvm::TraceObserver told;
    if (observer != nullptr)
      told = [observer, context](std::string_view line) { observer(context, line.data(), line.size()); };
    invocation->invocation.SetTraceObserver(std::move(told));
    return {};
  });
}

}  // extern "C"
