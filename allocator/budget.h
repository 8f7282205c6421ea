// Budget: what one run uses at once, and the most it did, over the account of what its Invocation holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "allocator/account.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// Not thread-safe: belongs to one Invocation.
class Budget {
 public:
  explicit Budget(std::shared_ptr<MemoryAccount> parent = nullptr) : account_({}, std::move(parent)) {}

  // Of all that is held; 0: no limit.
  void set_limit(int64_t bytes) { account_.set_limit(bytes); }
  // What is held without being used, too: blocks of arenas, registers, plans.
  MemoryAccount& account() { return account_; }

  // Takes `bytes` for `purpose` ("tensor", "output 'y'"), which are held as long as they are used. Errors:
  // kOutOfMemory with what was wanted, held and allowed.
  Status Reserve(int64_t bytes, std::string_view purpose) {
    TVMVM_CHECK_OK(account_.Reserve(bytes, purpose));
    Use(bytes);
    return {};
  }
  void Release(int64_t bytes) {
    account_.Release(bytes);
    live_ -= bytes;
  }

  // The same of a part of what the account has already: a region of an arena.
  void Use(int64_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }
  void Leave(int64_t bytes) { live_ -= bytes; }

  int64_t live_bytes() const { return live_; }
  int64_t peak_bytes() const { return peak_; }

 private:
  MemoryAccount account_;
  int64_t live_ = 0;
  int64_t peak_ = 0;
};

}  // namespace tvmvm
