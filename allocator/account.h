// MemoryAccount: how many bytes somebody holds, and how many are allowed. Accounts form a chain, from an
// Invocation over its Vm to a service's pool: what one takes, all above it take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "tvm-vm/status.h"

namespace tvmvm {

// Somebody who waits for memory.
class MemoryWaiter {
 public:
  // Asked now and then: whether it is of no use any longer.
  virtual bool GivesUp() const = 0;

 protected:
  ~MemoryWaiter() = default;
};

// Thread-safe, without locks as long as nobody waits.
class MemoryAccount {
 public:
  // `owner`: for messages; empty: an Invocation's. `limit`: 0: none.
  explicit MemoryAccount(std::string owner = {}, std::shared_ptr<MemoryAccount> parent = nullptr,
                         int64_t limit = 0);
  ~MemoryAccount();
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  void set_limit(int64_t bytes) {
    limit_.store(bytes > 0 ? bytes : std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
  }
  int64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  int64_t held_bytes() const { return held_.load(std::memory_order_relaxed); }
  int64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  bool is_over() const { return held_bytes() > limit(); }

  // What does not fit is waited for, at most so long, by those who have a waiter; first come, first served.
  // Of an account without one above, before anything is reserved.
  void set_max_wait(std::chrono::nanoseconds wait);
  // For all that is reserved here; null: nobody waits. It outlives the account.
  void set_waiter(const MemoryWaiter* waiter) { waiter_ = waiter; }
  // How many wait for this account's memory, and whether anybody waits for that of the topmost one.
  int waiting() const { return waiting_.load(std::memory_order_relaxed); }
  bool is_awaited() const { return parent_ != nullptr ? parent_->is_awaited() : waiting() > 0; }

  // Takes `bytes` >= 0 for `purpose` ("arena", "registers") here and above, or nowhere. Errors: kOutOfMemory
  // with what was wanted, held and allowed. Throws nothing, lest a part of the chain keep what the others
  // gave back.
  Status Reserve(int64_t bytes, std::string_view purpose, const MemoryWaiter* waiter = nullptr) noexcept {
    if (waiter == nullptr) waiter = waiter_;
    int64_t held = held_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit() - held || (parent_ == nullptr && waiting() > 0)) [[unlikely]] {
        TVMVM_CHECK_OK(TakeInTurn(bytes, purpose, waiter));
        held = held_bytes() - bytes;
        break;
      }
    } while (!held_.compare_exchange_weak(held, held + bytes, std::memory_order_seq_cst));
    if (parent_ != nullptr)
      if (Status status = parent_->Reserve(bytes, purpose, waiter); !status) [[unlikely]] {
        held_.fetch_sub(bytes, std::memory_order_relaxed);
        return status;
      }
    NotePeak(held + bytes);
    return {};
  }
  // The same of what is taken already, and cannot be refused.
  void Add(int64_t bytes) {
    NotePeak(held_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
    if (parent_ != nullptr) parent_->Add(bytes);
  }
  void Release(int64_t bytes) noexcept {
    held_.fetch_sub(bytes, std::memory_order_seq_cst);
    if (parent_ != nullptr)
      parent_->Release(bytes);
    else if (waiting_.load(std::memory_order_seq_cst) > 0) [[unlikely]]
      Wake();
  }

 private:
  struct Queue;

  // False: that is more than is allowed.
  bool Take(int64_t bytes);
  // The same behind all who wait. Errors: kOutOfMemory, at once where it can never be.
  [[gnu::cold, gnu::noinline]] Status TakeInTurn(int64_t bytes, std::string_view purpose,
                                                 const MemoryWaiter* waiter) noexcept;
  [[gnu::cold]] Status TakeOrWait(int64_t bytes, std::string_view purpose, const MemoryWaiter* waiter);
  [[gnu::cold, gnu::noinline]] void Wake() noexcept;
  [[gnu::cold, gnu::noinline]] Status Refuse(int64_t bytes, std::string_view purpose, bool waited) const;
  void NotePeak(int64_t held) {
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (held > peak && !peak_.compare_exchange_weak(peak, held, std::memory_order_relaxed)) {
    }
  }

  const std::string owner_;
  const std::shared_ptr<MemoryAccount> parent_;
  std::atomic<int64_t> limit_;
  std::atomic<int64_t> held_{0}, peak_{0};
  const MemoryWaiter* waiter_ = nullptr;
  std::atomic<int> waiting_{0};
  std::unique_ptr<Queue> queue_;  // where what does not fit is waited for
};

}  // namespace tvmvm
