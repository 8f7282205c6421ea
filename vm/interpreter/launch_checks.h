// LaunchChecks: what each kernel with a contract was last launched with, so that a launch with the same
// numbers is only compared. One run at a time uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/launch_contract.h"
#include "vm/binding/binding.h"

namespace tvmvm {

// Of a kernel.
struct LaunchCheck {
  const LaunchContract* contract = nullptr;  // null: there is none
  int64_t* values = nullptr;                 // of the contract, as of the last launch
  int64_t* bytes = nullptr;                  // that each buffer must have; 0 without a contract

  // No launch has such a grid.
  void Forget() { values[LaunchContract::kGrid] = INT64_MIN; }
};

class LaunchChecks {
 public:
  explicit LaunchChecks(const Binding& binding);
  LaunchCheck& operator[](uint32_t kernel) { return checks_[kernel]; }

 private:
  std::vector<LaunchCheck> checks_;  // by KernelId
  std::vector<int64_t> numbers_;     // of all of them
};

}  // namespace tvmvm
