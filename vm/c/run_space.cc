#include "vm/c/run_space.h"

#include <chrono>
#include <memory>
#include <string>

#include "vm/c/objects.h"
#include "vm/c/sized.h"

namespace tvmvm::c {
namespace {

// Nothing of the caller's is kept alive between calls.
void Forget(RunSpace* space) {
  for (Tensor& tensor : space->inputs) tensor = {};
  for (Tensor& tensor : space->outputs) tensor = {};
  for (Value& value : space->value_inputs) value = {};
  for (Value& value : space->value_outputs) value = {};
  space->options = {};
}

Status TakeOptions(const tvmvm_run_options* options, RunOptions* taken) {
  if (options == nullptr) return {};
  TVMVM_TRY(const tvmvm_run_options read,
            ReadSized(*options, offsetof(tvmvm_run_options, cancel), "options"));
  TVMVM_CHECK_OK(CheckNotNegative({{read.timeout_ns, "options.timeout_ns"}}));
  if (read.cancel != nullptr) taken->cancel = read.cancel->source.get_token();
  if (read.timeout_ns == 0) return {};
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds timeout(read.timeout_ns);
  if (timeout < taken->deadline - now) taken->deadline = now + timeout;
  return {};
}

// What every run begins with.
Status Begin(RunSpace* space, const tvmvm_run_options* options, bool has_inputs, bool has_outputs) {
  TVMVM_CHECK_OK(TakeOptions(options, &space->options));
  if (!has_inputs || !has_outputs) return NullArgument("inputs or outputs");
  return {};
}

}  // namespace

tvmvm_status* InTurn(RunSpace* space, const char* owner, Body body) noexcept {
  return Guarded([&]() -> Status {
    if (space == nullptr) return NullArgument(owner);
    if (space->busy.exchange(true, std::memory_order_acquire))
      return MakeError(Code::kInvalidArgument,
                       "the " + std::string(owner) + " is running: another thread runs it");
    struct End {
      RunSpace* space;
      ~End() {
        Forget(space);
        space->busy.store(false, std::memory_order_release);
      }
    } const end{space};
    return body();
  });
}

Status RunWithTensors(RunSpace* space, const tvmvm_run_options* options, const tvmvm_tensor* const* inputs,
                      size_t input_count, tvmvm_tensor** outputs, size_t output_count, Body run) {
  TVMVM_CHECK_OK(
      Begin(space, options, input_count == 0 || inputs != nullptr, output_count == 0 || outputs != nullptr));
  space->inputs.resize(input_count);
  space->outputs.resize(output_count);
  for (size_t i = 0; i < input_count; ++i) space->inputs[i] = inputs[i] ? inputs[i]->tensor : Tensor();
  for (size_t i = 0; i < output_count; ++i) space->outputs[i] = outputs[i] ? outputs[i]->tensor : Tensor();
  TVMVM_CHECK_OK(run());
  std::vector<std::unique_ptr<tvmvm_tensor>> created(output_count);
  for (size_t i = 0; i < output_count; ++i)
    if (outputs[i] == nullptr) created[i] = std::make_unique<tvmvm_tensor>(tvmvm_tensor{space->outputs[i]});
  for (size_t i = 0; i < output_count; ++i)
    if (created[i]) outputs[i] = created[i].release();
  return {};
}

Status RunWithValues(RunSpace* space, const tvmvm_run_options* options, const tvmvm_value* const* inputs,
                     size_t input_count, tvmvm_value** outputs, size_t output_count, Body run) {
  TVMVM_CHECK_OK(
      Begin(space, options, input_count == 0 || inputs != nullptr, output_count == 0 || outputs != nullptr));
  space->value_inputs.resize(input_count);
  space->value_outputs.resize(output_count);
  for (size_t i = 0; i < input_count; ++i) space->value_inputs[i] = inputs[i] ? inputs[i]->value : Value();
  for (size_t i = 0; i < output_count; ++i) {
    if (outputs[i] != nullptr && !outputs[i]->value.is_tensor())
      return MakeError(Code::kInvalidArgument, "output " + std::to_string(i) +
                                                   ": only a tensor can receive a result, a " +
                                                   std::string(outputs[i]->value.kind_name()) + " is given");
    space->value_outputs[i] = outputs[i] ? outputs[i]->value : Value();
  }
  TVMVM_CHECK_OK(run());
  std::vector<std::unique_ptr<tvmvm_value>> created(output_count);
  for (size_t i = 0; i < output_count; ++i)
    if (outputs[i] == nullptr)
      created[i] = std::make_unique<tvmvm_value>(tvmvm_value{space->value_outputs[i]});
  for (size_t i = 0; i < output_count; ++i) {
    if (created[i])
      outputs[i] = created[i].release();
    else
      outputs[i]->value = space->value_outputs[i];
  }
  return {};
}

Status WriteCounters(const RunCounters& now, tvmvm_run_counters* counters) {
  const tvmvm_run_counters written = {sizeof written, now.ok,   now.refused, now.limited,
                                      now.cancelled,  now.lost, now.failed};
  return WriteSized(written, sizeof written, "counters", counters);
}

}  // namespace tvmvm::c
