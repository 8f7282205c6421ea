// Hazards: which work must wait for which, from the bytes that it reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tvmvm {

// Work is announced in its order: what it touches with Reads and Writes, then MustWait. Not thread-safe.
class Hazards {
 public:
  void Reads(uint64_t address, uint64_t bytes) { Add(address, bytes, false); }
  void Writes(uint64_t address, uint64_t bytes) { Add(address, bytes, true); }

  // True where what was announced since the last call touches bytes that work since the last true wrote, or
  // writes bytes that it read; then everything waits for everything before it. Also true, now and then, where
  // there is much to compare.
  bool MustWait() {
    const bool wait = ranges_.size() > kMost || Collides();
    if (wait) ranges_.erase(ranges_.begin(), ranges_.begin() + static_cast<ptrdiff_t>(settled_));
    settled_ = ranges_.size();
    return wait;
  }

  // Everything so far is waited for.
  void Clear() {
    ranges_.clear();
    settled_ = 0;
  }

 private:
  struct Range {
    uint64_t begin, end;
    bool written;
  };
  static constexpr size_t kMost = 64;

  void Add(uint64_t address, uint64_t bytes, bool written) {
    const uint64_t end = bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
    if (address < end) ranges_.push_back({address, end, written});
  }

  bool Collides() const {
    for (size_t i = settled_; i < ranges_.size(); ++i)
      for (size_t k = 0; k < settled_; ++k)
        if (ranges_[i].begin < ranges_[k].end && ranges_[k].begin < ranges_[i].end &&
            (ranges_[i].written || ranges_[k].written))
          return true;
    return false;
  }

  std::vector<Range> ranges_;  // of work since the last wait, then of the work that is being announced
  size_t settled_ = 0;         // how many belong to earlier work
};

}  // namespace tvmvm
