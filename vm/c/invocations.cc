// The functions of c_api.h for invocations.
#include <chrono>
#include <memory>
#include <string>

#include "vm/c/objects.h"

using tvmvm::Code;
using tvmvm::MakeError;
using tvmvm::Status;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;

namespace {

Status RunInvocation(tvmvm_invocation* self, const tvmvm_tensor* const* inputs, size_t input_count,
                     tvmvm_tensor** outputs, size_t output_count) {
  if (self == nullptr) return NullArgument("invocation");
  if ((input_count > 0 && inputs == nullptr) || (output_count > 0 && outputs == nullptr))
    return NullArgument("inputs or outputs");
  self->inputs.resize(input_count);
  self->outputs.resize(output_count);
  for (size_t i = 0; i < input_count; ++i) self->inputs[i] = inputs[i] ? inputs[i]->tensor : tvmvm::Tensor();
  for (size_t i = 0; i < output_count; ++i)
    self->outputs[i] = outputs[i] ? outputs[i]->tensor : tvmvm::Tensor();
  TVMVM_CHECK_OK(self->invocation.Run(self->inputs, self->outputs));
  std::vector<std::unique_ptr<tvmvm_tensor>> created(output_count);
  for (size_t i = 0; i < output_count; ++i)
    if (outputs[i] == nullptr) created[i] = std::make_unique<tvmvm_tensor>(tvmvm_tensor{self->outputs[i]});
  for (size_t i = 0; i < output_count; ++i)
    if (created[i]) outputs[i] = created[i].release();
  return {};
}

Status RunWithValues(tvmvm_invocation* self, const tvmvm_value* const* inputs, size_t input_count,
                     tvmvm_value** outputs, size_t output_count) {
  if (self == nullptr) return NullArgument("invocation");
  if ((input_count > 0 && inputs == nullptr) || (output_count > 0 && outputs == nullptr))
    return NullArgument("inputs or outputs");
  self->value_inputs.resize(input_count);
  self->value_outputs.resize(output_count);
  for (size_t i = 0; i < input_count; ++i)
    self->value_inputs[i] = inputs[i] ? inputs[i]->value : tvmvm::Value();
  for (size_t i = 0; i < output_count; ++i) {
    if (outputs[i] != nullptr && !outputs[i]->value.is_tensor())
      return MakeError(Code::kInvalidArgument, "output " + std::to_string(i) +
                                                   ": only a tensor can receive a result, a " +
                                                   std::string(outputs[i]->value.kind_name()) + " is given");
    self->value_outputs[i] = outputs[i] ? outputs[i]->value : tvmvm::Value();
  }
  TVMVM_CHECK_OK(self->invocation.Run(self->value_inputs, self->value_outputs));
  std::vector<std::unique_ptr<tvmvm_value>> created(output_count);
  for (size_t i = 0; i < output_count; ++i)
    if (outputs[i] == nullptr)
      created[i] = std::make_unique<tvmvm_value>(tvmvm_value{self->value_outputs[i]});
  for (size_t i = 0; i < output_count; ++i) {
    if (created[i])
      outputs[i] = created[i].release();
    else
      outputs[i]->value = self->value_outputs[i];
  }
  return {};
}

// The invocation keeps nothing of the caller's alive between calls.
void Forget(tvmvm_invocation* self) {
  if (self == nullptr) return;
  for (tvmvm::Tensor& tensor : self->inputs) tensor = {};
  for (tvmvm::Tensor& tensor : self->outputs) tensor = {};
  for (tvmvm::Value& value : self->value_inputs) value = {};
  for (tvmvm::Value& value : self->value_outputs) value = {};
}

}  // namespace

extern "C" {

tvmvm_status* tvmvm_invocation_create(const tvmvm_vm* vm, tvmvm_invocation** invocation) {
  return Guarded([&]() -> Status {
    if (vm == nullptr || invocation == nullptr) return NullArgument("vm or invocation");
    *invocation = new tvmvm_invocation{vm->vm->NewInvocation(), {}, {}, {}, {}};
    return {};
  });
}
void tvmvm_invocation_free(tvmvm_invocation* invocation) { delete invocation; }
tvmvm_status* tvmvm_invocation_run(tvmvm_invocation* invocation, const tvmvm_tensor* const* inputs,
                                   size_t input_count, tvmvm_tensor** outputs, size_t output_count) {
  tvmvm_status* status =
      Guarded([&] { return RunInvocation(invocation, inputs, input_count, outputs, output_count); });
  Forget(invocation);
  return status;
}
tvmvm_status* tvmvm_invocation_run_values(tvmvm_invocation* invocation, const tvmvm_value* const* inputs,
                                          size_t input_count, tvmvm_value** outputs, size_t output_count) {
  tvmvm_status* status =
      Guarded([&] { return RunWithValues(invocation, inputs, input_count, outputs, output_count); });
  Forget(invocation);
  return status;
}
void tvmvm_invocation_set_limits(tvmvm_invocation* invocation, int64_t max_bytes, int64_t max_steps,
                                 int64_t timeout_ns) {
  tvmvm::Limits limits;
  limits.max_bytes = max_bytes;
  limits.max_steps = max_steps;
  limits.timeout = std::chrono::nanoseconds(timeout_ns);
  invocation->invocation.SetLimits(limits);
}
void tvmvm_invocation_cancel(tvmvm_invocation* invocation) { invocation->invocation.Cancel(); }
int64_t tvmvm_invocation_peak_bytes(const tvmvm_invocation* invocation) {
  return invocation->invocation.peak_bytes();
}
void tvmvm_invocation_trim(tvmvm_invocation* invocation) { invocation->invocation.Trim(); }

}  // extern "C"
