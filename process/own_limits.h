// Limits that a process sets itself, and how much it has already.
#pragma once

#include <cstdint>

namespace tvmvm {

// Of RLIMIT_...: for good.
void LimitOwn(int resource, uint64_t value);

// What the system counts as this process's; 0 where it does not say.
struct OwnMemory {
  uint64_t addresses = 0;  // RLIMIT_AS
  uint64_t data = 0;       // RLIMIT_DATA, and the stack
};
OwnMemory OwnMemoryNow();

}  // namespace tvmvm
