// What the process gives up before it sees anything that is not trusted.
#pragma once

#include <cstdint>

namespace tvmvm::sandbox {

struct Confinement {
  int64_t max_bytes = 0;       // as Limits; 0: none
  uint64_t program_bytes = 0;  // of the file
  int workers = 1;             // threads that allocate
};

// First, while the process has one thread: new rights, the parent's network and other namespaces where the
// system lets it go without them, being looked at; it ends when its parent does.
void LeaveNamespaces();
// Then, when threads and memory that are always needed are there: files of its own, memory beyond the limit,
// and all system calls but those of filter.h. False where the system has no such filter.
bool Confine(const Confinement& confinement);

}  // namespace tvmvm::sandbox
