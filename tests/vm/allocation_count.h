// How often this test program has allocated through the language's operator new, the library included.
#pragma once

#include <cstdint>

namespace tvmvm::testing {

int64_t AllocationCount();

// While it lives, allocation number `number` (from 0 on) of this thread through operator new fails once.
class FailingAllocation {
 public:
  explicit FailingAllocation(int64_t number);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  bool has_failed() const;
};

}  // namespace tvmvm::testing
