// The status words of a queue's launches, one for each, and which launch each belongs to. See kernel_abi.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tvm-vm/device.h"

namespace tvmvm {

class StatusWords {
 public:
  static constexpr uint32_t kCount = 4096;
  static constexpr int64_t kBytes = kCount * sizeof(int32_t);

  bool full() const { return launches_.size() == kCount; }
  uint32_t used() const { return static_cast<uint32_t>(launches_.size()); }

  // The index of the launch's word. Not when full().
  uint32_t Take(const LaunchRequest& request) {
    launches_.push_back({request.tag, request.kernel});
    return static_cast<uint32_t>(launches_.size() - 1);
  }

  // When all work is done: remembers the earliest launch whose word is not 0, and sets such words to 0 again.
  // True where there was one. `words` holds those that are used, which are free now.
  bool Collect(int32_t* words) {
    bool any = false;
    for (size_t i = 0; i < launches_.size(); ++i) {
      if (words[i] == 0) [[likely]]
        continue;
      if (!failure_) failure_ = KernelFailure{launches_[i].tag, launches_[i].kernel, words[i]};
      words[i] = 0;
      any = true;
    }
    launches_.clear();
    return any;
  }

  // What was remembered, once.
  std::optional<KernelFailure> TakeFailure() { return std::exchange(failure_, std::nullopt); }

 private:
  struct Launch {
    uint64_t tag;
    uint32_t kernel;
  };
  std::vector<Launch> launches_;
  std::optional<KernelFailure> failure_;
};

}  // namespace tvmvm
