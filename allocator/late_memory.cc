#include "allocator/late_memory.h"

#include <new>
#include <utility>

#include "allocator/host_memory.h"

namespace tvmvm {
namespace {

// What is given back between two questions.
constexpr int64_t kPart = 16 << 20;
constexpr size_t kTextsInPart = 64, kLongText = 1 << 16;
constexpr int64_t kManyTexts = 1 << 20;  // fewer bytes of them are gone in a millisecond

bool GivesUp(const MemoryWaiter* run) { return run != nullptr && run->GivesUp(); }

}  // namespace

void LateMemory::Free(void* memory, int64_t bytes) noexcept {
  budget_->Leave(bytes);
  first_ = new (memory) Kept{first_, bytes, bytes};
  GiveBack();
}

void LateMemory::Free(std::shared_ptr<std::vector<std::string>> texts, int64_t bytes) noexcept {
  if (texts.use_count() != 1 || bytes < kManyTexts) return budget_->Release(bytes);
  try {
    texts_.push_back({std::move(texts), bytes});
  } catch (const std::bad_alloc&) {
    return budget_->Release(bytes);
  }
  budget_->Leave(bytes);
  GiveBack();
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
      if ((texts.size() % kTextsInPart == 0 || texts.back().size() >= kLongText) && GivesUp(run))
        return false;
    budget_->account().Release(texts_.back().charged);
  }
  return true;
}

}  // namespace tvmvm
