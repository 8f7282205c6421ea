// What Vm and Invocation hold.
#pragma once

#include <atomic>
#include <memory>

#include "tvm-vm/vm.h"
#include "vm/interpreter/machine.h"

namespace tvmvm {

struct Vm::Impl {
  std::shared_ptr<const Binding> binding;
  std::shared_ptr<MemoryAccount> account;  // of all Invocations
};

// Keeps the binding alive by itself: an Invocation may outlive its Vm.
struct Invocation::Impl {
  Impl(std::shared_ptr<const Binding> binding, std::shared_ptr<MemoryAccount> account)
      : machine(std::move(binding), std::move(account)) {}
  Machine machine;
  std::atomic<bool> running{false};
};

}  // namespace tvmvm
