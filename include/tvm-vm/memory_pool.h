// MemoryPool: how much memory a service gives to the Vms in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "tvm-vm/export.h"

namespace tvmvm {

class MemoryAccount;

struct MemoryPoolOptions {
  int64_t max_bytes = 0;                 // held at once, on the host and on devices together; 0: no limit
  std::string name = "the memory pool";  // for messages
  // A run that wants what does not fit waits for it, at most so long and until its own deadline; 0: it does
  // not. Runs that wait hold what they have: it serves those that wait whole only where the pool has room for
  // the largest run beside what the others keep.
  std::chrono::nanoseconds max_wait{0};
};

// Shared by any number of Vms and their Invocations; thread-safe, without locks while nobody waits. First
// come, first served: what does not fit, or not in time, ends the run that wanted it with kOutOfMemory,
// saying what was wanted, held and allowed, before anything is allocated. While somebody waits, Invocations
// give back at the end of a run what they would keep for the next one.
class TVMVM_EXPORT MemoryPool {
 public:
  // `max_bytes`: held at once, on the host and on devices together; 0: no limit. `name` is for messages.
  static std::shared_ptr<MemoryPool> Create(int64_t max_bytes, std::string name = "the memory pool");
  static std::shared_ptr<MemoryPool> Create(const MemoryPoolOptions& options);
  ~MemoryPool();

  int64_t max_bytes() const;
  int64_t held_bytes() const;
  int64_t peak_bytes() const;  // the most that was held at once
  int waiting() const;         // runs that wait for memory now

 private:
  friend class Vm;
  explicit MemoryPool(std::shared_ptr<MemoryAccount> account);
  std::shared_ptr<MemoryAccount> account_;
};

}  // namespace tvmvm
