// MemoryAccount: how many bytes somebody holds, and how many are allowed. Accounts form a chain, from an
// Invocation over its Vm to a service's pool: what one takes, all above it take.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "tvm-vm/status.h"

namespace tvmvm {

// Thread-safe, without locks.
class MemoryAccount {
 public:
  // `owner`: for messages; empty: an Invocation's. `limit`: 0: none.
  explicit MemoryAccount(std::string owner = {}, std::shared_ptr<MemoryAccount> parent = nullptr,
                         int64_t limit = 0)
      : owner_(std::move(owner)), parent_(std::move(parent)) {
    set_limit(limit);
  }
  ~MemoryAccount() { Release(held_bytes()); }
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  void set_limit(int64_t bytes) {
    limit_.store(bytes > 0 ? bytes : std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
  }
  int64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  int64_t held_bytes() const { return held_.load(std::memory_order_relaxed); }
  int64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  bool is_over() const { return held_bytes() > limit(); }

  // Takes `bytes` >= 0 for `purpose` ("arena", "registers") here and above, or nowhere. Errors: kOutOfMemory
  // with what was wanted, held and allowed.
  Status Reserve(int64_t bytes, std::string_view purpose) {
    int64_t held = held_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit() - held) [[unlikely]]
        return Refuse(bytes, held, purpose);
    } while (!held_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
    if (parent_ != nullptr)
      if (Status status = parent_->Reserve(bytes, purpose); !status) [[unlikely]] {
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
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    if (parent_ != nullptr) parent_->Release(bytes);
  }

 private:
  [[gnu::cold, gnu::noinline]] Status Refuse(int64_t bytes, int64_t held, std::string_view purpose) const;
  void NotePeak(int64_t held) {
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (held > peak && !peak_.compare_exchange_weak(peak, held, std::memory_order_relaxed)) {
    }
  }

  const std::string owner_;
  const std::shared_ptr<MemoryAccount> parent_;
  std::atomic<int64_t> limit_;
  std::atomic<int64_t> held_{0}, peak_{0};
};

}  // namespace tvmvm
