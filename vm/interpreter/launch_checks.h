// LaunchChecks: what each kernel with a contract was launched with the last two times that the numbers
// differed, so that a launch with one of these sets of numbers is only compared. Two, because programs do the
// same along two axes in turns. One run at a time uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/launch_contract.h"
#include "vm/binding/binding.h"

namespace tvmvm {

// What goes with one set of numbers.
struct CheckedNumbers {
  int64_t* values = nullptr;  // of the contract
  int64_t* bytes = nullptr;   // that each buffer must have; 0 without a contract

  // No launch has such a grid.
  void Forget() { values[LaunchContract::kGrid] = INT64_MIN; }
};

// Of a kernel.
struct LaunchCheck {
  const LaunchContract* contract = nullptr;  // null: there is none
  CheckedNumbers last, other;                // other: those before the last ones
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
