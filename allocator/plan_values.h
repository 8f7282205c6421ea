// What the planner's parts share: values that take memory, and where they were put.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace tvmvm::planning {

inline constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max() / 4;

inline int64_t AlignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// Saturates, so that absurd sizes give an absurd total (which an allocation refuses) and not a small one.
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return kMaxBytes;
  return std::min(sum, kMaxBytes);
}

// A value with size > 0, alive at all positions from `first` to `last`.
struct Value {
  uint32_t index = 0;  // in the PlanSpec
  uint32_t first = 0;
  uint32_t last = 0;
  int64_t size = 0;
  int64_t alignment = 64;
};

struct Placement {
  std::vector<int64_t> offsets;  // by position in the list of values
  int64_t total_bytes = 0;
};

// Asks whether to give up, now and then.
class Watch {
 public:
  explicit Watch(const std::function<bool()>& cancelled) : cancelled_(cancelled) {}
  // `work`: nanoseconds, roughly.
  bool IsStopped(uint64_t work) {
    work_ += work;
    if (work_ < kWorkBetweenLooks) [[likely]]
      return is_stopped_;
    return Look();
  }
  bool Look() {
    work_ = 0;
    is_stopped_ = is_stopped_ || (cancelled_ && cancelled_());
    return is_stopped_;
  }
  bool is_stopped() const { return is_stopped_; }

 private:
  static constexpr uint64_t kWorkBetweenLooks = 1 << 20;
  const std::function<bool()>& cancelled_;
  uint64_t work_ = 0;
  bool is_stopped_ = false;
};

}  // namespace tvmvm::planning
