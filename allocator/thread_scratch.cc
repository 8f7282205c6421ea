#include "allocator/thread_scratch.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

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

// A thread's: whoever exchanges the block out has it. In a list of all of them, which holds it from the first
// block to the thread's end.
struct Keeper {
  std::atomic<void*> block{nullptr};
  bool is_listed = false;
  Keeper* before = nullptr;
  Keeper* after = nullptr;

  void* Take() { return block.exchange(nullptr, std::memory_order_acquire); }
};

constinit std::mutex list_mutex;
constinit Keeper* first_keeper = nullptr;
// Without a destructor, which the C library could have no memory to remember, and would end the process.
constinit thread_local Keeper this_keeper;

void AtThreadEnd(void* pointer) {
  auto* keeper = static_cast<Keeper*>(pointer);
  {
    const std::lock_guard lock(list_mutex);
    (keeper->before != nullptr ? keeper->before->after : first_keeper) = keeper->after;
    if (keeper->after != nullptr) keeper->after->before = keeper->before;
  }
  keeper->is_listed = false;
  FreeBlock(keeper->Take());
}

// Whether the thread's end will free what its keeper has.
bool IsListed(Keeper& keeper) {
  if (keeper.is_listed) [[likely]]
    return true;
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made;
    return pthread_key_create(&made, &AtThreadEnd) == 0 ? std::optional(made) : std::nullopt;
  }();
  if (!key || pthread_setspecific(*key, &keeper) != 0) return false;
  const std::lock_guard lock(list_mutex);
  keeper.before = nullptr;
  keeper.after = std::exchange(first_keeper, &keeper);
  if (keeper.after != nullptr) keeper.after->before = &keeper;
  return keeper.is_listed = true;
}

// Where there is another by now, a kernel within a kernel, that goes.
void Keep(void* block) {
  FreeBlock(IsListed(this_keeper) ? this_keeper.block.exchange(block, std::memory_order_acq_rel) : block);
}

}  // namespace

ThreadScratch::ThreadScratch(int64_t bytes) : block_(this_keeper.Take()) {
  if (block_ != nullptr && static_cast<Block*>(block_)->bytes >= bytes) return;
  FreeBlock(block_);
  block_ = NewBlock(bytes);
}

ThreadScratch::~ThreadScratch() {
  if (block_ != nullptr) Keep(block_);
}

void* ThreadScratch::memory() const { return block_ != nullptr ? static_cast<Block*>(block_) + 1 : nullptr; }

int64_t ThreadScratchBytes() { return kept_bytes.load(std::memory_order_relaxed); }

void TrimThreadScratch() {
  const std::lock_guard lock(list_mutex);
  for (Keeper* keeper = first_keeper; keeper != nullptr; keeper = keeper->after) {
    void* block = keeper->Take();
    if (block == nullptr) continue;
    DiscardPages(static_cast<Block*>(block) + 1, static_cast<Block*>(block)->bytes);
    FreeBlock(block);
  }
}

}  // namespace tvmvm
