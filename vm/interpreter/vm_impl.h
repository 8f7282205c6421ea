// What Vm and Invocation hold.
#pragma once

#include <atomic>
#include <memory>

#include "tvm-vm/vm.h"
#include "vm/interpreter/machine.h"

namespace tvmvm {

struct Vm::Impl {
  std::shared_ptr<const Binding> binding;
};

// Keeps the binding alive by itself: an Invocation may outlive its Vm.
struct Invocation::Impl {
  explicit Impl(std::shared_ptr<const Binding> binding) : machine(std::move(binding)) {}
  Machine machine;
  std::atomic<bool> running{false};
};

}  // namespace tvmvm
