// What the queues of a device did, counted for its statistics.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/suballocator.h"
#include "tvm-vm/device.h"

namespace tvmvm {

struct QueueCounts {
  std::atomic<int64_t> launches{0};
  std::atomic<int64_t> waits{0};  // that had something to wait for

  static void Add(std::atomic<int64_t>* count) { count->fetch_add(1, std::memory_order_relaxed); }

  DeviceStatistics With(const SuballocatorStatistics& memory) const {
    return {memory.live_bytes,
            memory.peak_bytes,
            memory.held_bytes,
            memory.blocks,
            launches.load(std::memory_order_relaxed),
            waits.load(std::memory_order_relaxed),
            memory.megabyte_ns};
  }
};

}  // namespace tvmvm
