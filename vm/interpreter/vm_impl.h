// What Vm and Invocation hold.
#pragma once

#include <atomic>
#include <memory>

#include "tvm-vm/vm.h"
#include "vm/interpreter/machine.h"
#include "vm/interpreter/run_counts.h"

namespace tvmvm {

struct Vm::Impl {
  std::shared_ptr<const Binding> binding;
  std::shared_ptr<MemoryAccount> account;  // of all Invocations
  std::shared_ptr<RunCounts> runs = std::make_shared<RunCounts>();
  std::shared_ptr<SharedPlans> plans;
};

// Keeps the binding alive by itself: an Invocation may outlive its Vm.
struct Invocation::Impl {
  Impl(std::shared_ptr<const Binding> binding, std::shared_ptr<MemoryAccount> account,
       std::shared_ptr<SharedPlans> plans, std::shared_ptr<RunCounts> counts)
      : machine(std::move(binding), std::move(account), std::move(plans)),
        runs(std::move(counts)),
        line(runs->NextLine()) {}
  Machine machine;
  const std::shared_ptr<RunCounts> runs;
  const size_t line;
  std::atomic<bool> running{false};
};

}  // namespace tvmvm
