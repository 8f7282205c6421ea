// One run of a Vm at a time: an Invocation with what it needs to talk to Python, reused from run to run.
#pragma once

#include <atomic>
#include <stop_token>
#include <utility>
#include <vector>

#include "arrays.h"
#include "interrupt.h"
#include "tvm-vm/value.h"
#include "tvm-vm/vm.h"

namespace tvmvm::python {

class Runner final : public Interruptible {
 public:
  explicit Runner(Invocation of) : invocation(std::move(of)) {}

  // From any thread, and from signal handlers. A runner that was cancelled is not used again: nobody knows
  // whether the run had ended before.
  void Cancel() noexcept override {
    was_cancelled_.store(true);
    invocation.Cancel();
  }
  bool was_cancelled() const { return was_cancelled_.load(); }

  Invocation invocation;
  std::vector<PyObject*> arguments;  // borrowed, in the order of the signature; null: not given
  std::vector<PyObject*> memory;     // for outputs, likewise
  std::vector<Tensor> inputs, outputs;
  std::vector<Value> input_values, output_values;  // where the signature has more than tensors
  Borrowings borrowings;

 private:
  std::atomic<bool> was_cancelled_{false};
};

// tvm_vm.CancelToken: ends the runs that it was given to, and refuses new ones.
struct CancelToken {
  std::stop_source source;
};

}  // namespace tvmvm::python
