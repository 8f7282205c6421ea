#include "allocator/account.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "bytecode/guarded.h"

namespace tvmvm {

using Clock = std::chrono::steady_clock;

// Who waits, in order. The numbers are tickets.
struct MemoryAccount::Queue {
  std::chrono::nanoseconds max_wait{0};
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<uint64_t> tickets;
  uint64_t next = 0;
};

MemoryAccount::MemoryAccount(std::string owner, std::shared_ptr<MemoryAccount> parent, int64_t limit)
    : owner_(std::move(owner)), parent_(std::move(parent)) {
  set_limit(limit);
}

MemoryAccount::~MemoryAccount() { Release(held_bytes()); }

void MemoryAccount::set_max_wait(std::chrono::nanoseconds wait) {
  queue_ = wait.count() > 0 ? std::make_unique<Queue>() : nullptr;
  if (queue_) queue_->max_wait = wait;
}

bool MemoryAccount::Take(int64_t bytes) {
  int64_t held = held_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit() - held) return false;
  } while (!held_.compare_exchange_weak(held, held + bytes, std::memory_order_seq_cst));
  return true;
}

Status MemoryAccount::TakeInTurn(int64_t bytes, std::string_view purpose,
                                 const MemoryWaiter* waiter) noexcept {
  return Guarded([&] { return TakeOrWait(bytes, purpose, waiter); });
}

Status MemoryAccount::TakeOrWait(int64_t bytes, std::string_view purpose, const MemoryWaiter* waiter) {
  if (queue_ == nullptr || waiter == nullptr || bytes > limit())
    return Take(bytes) ? Status() : Refuse(bytes, purpose, false);
  constexpr std::chrono::milliseconds kLook{5};  // between looks at whether it is still of use
  const Clock::time_point begin = Clock::now();
  std::unique_lock lock(queue_->mutex);
  const uint64_t ticket = queue_->next++;
  queue_->tickets.push_back(ticket);
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  bool is_taken = false;
  while (true) {
    is_taken = queue_->tickets.front() == ticket && Take(bytes);
    if (is_taken || waiter->GivesUp() || Clock::now() - begin >= queue_->max_wait) break;
    queue_->changed.wait_for(lock, kLook);
  }
  queue_->tickets.erase(std::ranges::find(queue_->tickets, ticket));
  waiting_.fetch_sub(1, std::memory_order_seq_cst);
  queue_->changed.notify_all();  // the next one may go on
  return is_taken ? Status() : Refuse(bytes, purpose, true);
}

void MemoryAccount::Wake() noexcept {
  const std::lock_guard lock(queue_->mutex);
  queue_->changed.notify_all();
}

Status MemoryAccount::Refuse(int64_t bytes, std::string_view purpose, bool waited) const {
  return MakeError(Code::kOutOfMemory, std::string(purpose) + " needs " + std::to_string(bytes) + " bytes; " +
                                           std::to_string(held_bytes()) + " bytes are in use" +
                                           (owner_.empty() ? "" : " by " + owner_) + " and the limit is " +
                                           std::to_string(limit()) +
                                           (waited ? "; the wait for more was in vain" : ""));
}

}  // namespace tvmvm
