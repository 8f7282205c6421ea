// How runs ended, counted by many threads at once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "tvm-vm/status.h"
#include "tvm-vm/vm.h"

namespace tvmvm {

// Counts lie in several lines of memory, and neighbouring Invocations use different ones, so that threads do
// not wait for one another.
class RunCounts {
 public:
  // A number for Count, which an Invocation asks for once.
  size_t NextLine() { return next_.fetch_add(1, std::memory_order_relaxed) % kLines; }

  void Count(size_t line, const Status& status) {
    (lines_[line].*PlaceOf(status)).fetch_add(1, std::memory_order_relaxed);
  }

  RunCounters Sum() const {
    RunCounters sum;
    for (const Line& line : lines_) {
      sum.ok += line.ok.load(std::memory_order_relaxed);
      sum.refused += line.refused.load(std::memory_order_relaxed);
      sum.limited += line.limited.load(std::memory_order_relaxed);
      sum.cancelled += line.cancelled.load(std::memory_order_relaxed);
      sum.lost += line.lost.load(std::memory_order_relaxed);
      sum.failed += line.failed.load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  static constexpr size_t kLines = 8;
  using Number = std::atomic<int64_t>;
  struct alignas(64) Line {
    Number ok{0}, refused{0}, limited{0}, cancelled{0}, lost{0}, failed{0};
  };

  static Number Line::*PlaceOf(const Status& status) {
    if (status) [[likely]]
      return &Line::ok;
    switch (status.error().code) {
      case Code::kInvalidArgument:
      case Code::kUnsupported:
        return &Line::refused;
      case Code::kOutOfMemory:
      case Code::kDeadlineExceeded:
        return &Line::limited;
      case Code::kCancelled:
        return &Line::cancelled;
      case Code::kDeviceLost:
        return &Line::lost;
      default:
        return &Line::failed;
    }
  }

  std::array<Line, kLines> lines_;
  std::atomic<size_t> next_{0};
};

}  // namespace tvmvm
