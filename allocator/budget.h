// Budget: how many bytes a run may hold at once, how many it holds, and the most it held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "tvm-vm/status.h"

namespace tvmvm {

// Not thread-safe: belongs to one Invocation.
class Budget {
 public:
  // 0: no limit.
  void set_limit(int64_t bytes) { limit_ = bytes > 0 ? bytes : std::numeric_limits<int64_t>::max(); }

  // Takes `bytes` for `purpose` ("arena", "output 'y'"). Errors: kOutOfMemory with what was wanted, held and
  // allowed.
  Status Reserve(int64_t bytes, std::string_view purpose) {
    if (bytes > limit_ - live_) [[unlikely]]
      return Refuse(bytes, purpose);
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    return {};
  }
  void Release(int64_t bytes) { live_ -= bytes; }

  int64_t live_bytes() const { return live_; }
  int64_t peak_bytes() const { return peak_; }

 private:
  Status Refuse(int64_t bytes, std::string_view purpose) const;

  int64_t limit_ = std::numeric_limits<int64_t>::max();
  int64_t live_ = 0;
  int64_t peak_ = 0;
};

}  // namespace tvmvm
