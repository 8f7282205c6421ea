#include "allocator/late_memory.h"

#include <new>
#include <utility>

#include "allocator/host_memory.h"

namespace tvmvm {
namespace {

constexpr int64_t kPart = 16 << 20;  // is given back between two questions

bool GivesUp(const MemoryWaiter* run) { return run != nullptr && run->GivesUp(); }

}  // namespace

void LateMemory::Free(void* memory, int64_t bytes) noexcept {
  if (!GivesUp(run_)) {
    FreeHost(memory);
    return budget_->Release(bytes);
  }
  budget_->Leave(bytes);
  first_ = new (memory) Kept{first_, bytes, bytes};
}

void LateMemory::Free(std::shared_ptr<std::vector<std::string>> texts, int64_t bytes) noexcept {
  if (texts.use_count() != 1 || !GivesUp(run_)) return budget_->Release(bytes);
  try {
    texts_.push_back({std::move(texts), bytes});
    budget_->Leave(bytes);
  } catch (const std::bad_alloc&) {
    budget_->Release(bytes);
  }
}

bool LateMemory::GiveBack(const MemoryWaiter* run) noexcept {
  while (first_ != nullptr) {
    // From the end on: the beginning says how much is left.
    for (; first_->bytes > kPart; first_->bytes -= kPart) {
      if (GivesUp(run)) return false;
      DiscardPages(reinterpret_cast<char*>(first_) + first_->bytes - kPart, kPart);
    }
    const Kept kept = *first_;
    FreeHost(std::exchange(first_, kept.next));
    budget_->account().Release(kept.charged);
  }
  for (; !texts_.empty(); texts_.pop_back()) {
    std::vector<std::string>& texts = *texts_.back().texts;
    for (; !texts.empty(); texts.pop_back())
      if (GivesUp(run)) return false;
    budget_->account().Release(texts_.back().charged);
  }
  return true;
}

}  // namespace tvmvm
