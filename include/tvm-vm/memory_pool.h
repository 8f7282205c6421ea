// MemoryPool: how much memory a service gives to the Vms in it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tvm-vm/export.h"

namespace tvmvm {

class MemoryAccount;

// Shared by any number of Vms and their Invocations; thread-safe, without locks. First come, first served:
// what does not fit ends the run that wanted it with kOutOfMemory, saying what was wanted, held and allowed.
class TVMVM_EXPORT MemoryPool {
 public:
  // `max_bytes`: held at once, on the host and on devices together; 0: no limit. `name` is for messages.
  static std::shared_ptr<MemoryPool> Create(int64_t max_bytes, std::string name = "the memory pool");
  ~MemoryPool();

  int64_t max_bytes() const;
  int64_t held_bytes() const;
  int64_t peak_bytes() const;  // the most that was held at once

 private:
  friend class Vm;
  explicit MemoryPool(std::shared_ptr<MemoryAccount> account);
  std::shared_ptr<MemoryAccount> account_;
};

}  // namespace tvmvm
