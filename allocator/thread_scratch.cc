#include "allocator/thread_scratch.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include "allocator/host_memory.h"

namespace tvmvm {
namespace {

// In front of the memory that is given out, and as large as its alignment.
struct alignas(kHostAlignment) Block {
  int64_t bytes;
};

std::atomic<int64_t> kept_bytes{0};

void FreeBlock(void* block) {
  if (block == nullptr) return;
  kept_bytes.fetch_sub(static_cast<Block*>(block)->bytes, std::memory_order_relaxed);
  FreeHost(block);
}

void* NewBlock(int64_t bytes) {
  constexpr auto kHeader = static_cast<int64_t>(sizeof(Block));
  if (bytes > INT64_MAX - kHeader) return nullptr;
  void* memory = TryAllocateHost(bytes + kHeader);
  if (memory == nullptr) return nullptr;
  kept_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return new (memory) Block{bytes};
}

// A thread's: whoever exchanges the block out has it.
class Keeper;
struct Keepers {
  std::mutex mutex;
  std::vector<Keeper*> all;
};
// Threads may outlive static objects.
Keepers& AllKeepers() {
  static auto* keepers = new Keepers;
  return *keepers;
}

class Keeper {
 public:
  Keeper() {
    const std::lock_guard lock(AllKeepers().mutex);
    AllKeepers().all.push_back(this);
  }
  ~Keeper() {
    {
      const std::lock_guard lock(AllKeepers().mutex);
      std::erase(AllKeepers().all, this);
    }
    FreeBlock(Take());
  }
  void* Take() { return block_.exchange(nullptr, std::memory_order_acquire); }
  // Where there is another by now, a kernel within a kernel, that goes.
  void Put(void* block) { FreeBlock(block_.exchange(block, std::memory_order_acq_rel)); }

 private:
  std::atomic<void*> block_{nullptr};
};

Keeper& ThisKeeper() {
  thread_local Keeper keeper;
  return keeper;
}

}  // namespace

ThreadScratch::ThreadScratch(int64_t bytes) : block_(ThisKeeper().Take()) {
  if (block_ != nullptr && static_cast<Block*>(block_)->bytes >= bytes) return;
  FreeBlock(block_);
  block_ = NewBlock(bytes);
}

ThreadScratch::~ThreadScratch() {
  if (block_ != nullptr) ThisKeeper().Put(block_);
}

void* ThreadScratch::memory() const { return block_ != nullptr ? static_cast<Block*>(block_) + 1 : nullptr; }

int64_t ThreadScratchBytes() { return kept_bytes.load(std::memory_order_relaxed); }

void TrimThreadScratch() {
  const std::lock_guard lock(AllKeepers().mutex);
  for (Keeper* keeper : AllKeepers().all) {
    void* block = keeper->Take();
    if (block == nullptr) continue;
    DiscardPages(static_cast<Block*>(block) + 1, static_cast<Block*>(block)->bytes);
    FreeBlock(block);
  }
}

}  // namespace tvmvm
