// What runs in C share, of an invocation and of a sandboxed VM.
#pragma once

#include <atomic>
#include <vector>

#include "tvm-vm/c_api.h"
#include "tvm-vm/vm.h"

namespace tvmvm::c {

// What a function of the interface does, wherever it stands: one copy of what goes around it serves all.
class Body {
 public:
  template <class Function>
  Body(const Function& function)  // NOLINT: a function is a body
      : call_([](const void* context) -> Status { return (*static_cast<const Function*>(context))(); }),
        function_(&function) {}
  Status operator()() const { return call_(function_); }

 private:
  Status (*call_)(const void* context);
  const void* function_;
};

// What a run takes and gives, as the C++ interface has it. Kept, so that a warm call allocates nothing, but
// empty between calls.
struct RunSpace {
  std::vector<Tensor> inputs, outputs;
  std::vector<Value> value_inputs, value_outputs;
  RunOptions options;
  std::atomic<bool> busy{false};
};

// Calls `body` while nobody else uses the space. Null is refused; `owner` is what it belongs to.
tvmvm_status* InTurn(RunSpace* space, const char* owner, Body body) noexcept;

// Fills the space, calls `run`, which runs with it, and hands the results out. `options` may be null.
Status RunWithTensors(RunSpace* space, const tvmvm_run_options* options, const tvmvm_tensor* const* inputs,
                      size_t input_count, tvmvm_tensor** outputs, size_t output_count, Body run);
Status RunWithValues(RunSpace* space, const tvmvm_run_options* options, const tvmvm_value* const* inputs,
                     size_t input_count, tvmvm_value** outputs, size_t output_count, Body run);

// `counters` is not null.
Status WriteCounters(const RunCounters& now, tvmvm_run_counters* counters);

}  // namespace tvmvm::c
