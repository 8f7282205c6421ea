// LateMemory: large memory of the host goes in parts, as long as its run is not stopped. The system takes
// tens of milliseconds to take a gigabyte back, which a run past its deadline does not have: the rest stays
// here, and goes when the next run begins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "allocator/budget.h"

namespace tvmvm {

// Not thread-safe: belongs to one Invocation. What is kept counts as held, but not as used.
class LateMemory {
 public:
  static constexpr int64_t kLarge = 32 << 20;  // less takes the system a millisecond or two

  explicit LateMemory(Budget* budget) : budget_(budget) {}
  ~LateMemory() { Trim(); }
  LateMemory(const LateMemory&) = delete;
  LateMemory& operator=(const LateMemory&) = delete;

  // Whose runs may be stopped; it outlives this. Null: none is.
  void set_run(const MemoryWaiter* run) { run_ = run; }

  // Gives back memory that TryAllocateHost gave, and what the budget counts for it; keeps what is left of it
  // where the run is stopped. `bytes`: at least kLarge.
  void Free(void* memory, int64_t bytes) noexcept;
  // The same of texts, of however many bytes; what others have, too, is theirs.
  void Free(std::shared_ptr<std::vector<std::string>> texts, int64_t bytes) noexcept;

  // Gives back what was kept; false where the run is stopped before all is.
  bool GiveBack() noexcept { return (first_ == nullptr && texts_.empty()) || GiveBack(run_); }
  void Trim() noexcept { GiveBack(nullptr); }

 private:
  struct Kept {  // at the beginning of the memory itself
    Kept* next;
    int64_t bytes, charged;
  };
  struct Texts {
    std::shared_ptr<std::vector<std::string>> texts;
    int64_t charged;
  };

  bool GiveBack(const MemoryWaiter* run) noexcept;

  Budget* budget_;
  const MemoryWaiter* run_ = nullptr;
  Kept* first_ = nullptr;
  std::vector<Texts> texts_;
};

}  // namespace tvmvm
