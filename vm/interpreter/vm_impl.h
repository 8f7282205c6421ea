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
  std::shared_ptr<SharedPlans> plans;
};

// Keeps the binding alive by itself: an Invocation may outlive its Vm.
struct Invocation::Impl {
  Impl(std::shared_ptr<const Binding> binding, std::shared_ptr<MemoryAccount> account,
       std::shared_ptr<SharedPlans> plans)
      : machine(std::move(binding), std::move(account), std::move(plans)) {}
  Machine machine;
  std::atomic<bool> running{false};
};

}  // namespace tvmvm
