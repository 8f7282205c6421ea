// The smallest device: memory that the host may not touch directly and that begins as zeros, any kernels, and
// nothing computed. It shows what a device must do (docs/adding_a_device.md) and lets tests make a device
// fail where they like.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "tvm-vm/device.h"

namespace tvmvm {

struct NullDeviceOptions {
  DeviceKind kind = DeviceKind::kNull;  // what it says it is: kernels of this kind are accepted
  int64_t max_bytes = 0;                // of memory; 0: no limit
  int64_t fail_allocation = 0;          // the n-th Allocate, from 1, has no memory; 0: none
  int64_t lose_at_submit = 0;  // the n-th copy, fill or launch, from 1, loses the device for good; 0: none
  bool stays_lost = false;     // it cannot be opened anew; else that device has no faults
  int64_t fail_wait = 0;       // the n-th Wait with work to wait for, from 1, has no memory; 0: none
  int64_t fail_launch = 0;     // the n-th launch, from 1, ends with ...
  int32_t failure_code = 1;    // ... this code
  const std::atomic<bool>* is_busy = nullptr;  // as long as it is true, work is not done; null: never
  int64_t most_ahead = INT64_MAX;  // copies, fills and launches that a queue has room for before it waits
  int64_t new_megabyte_ns = 0;     // what memory takes, as it says: all is new
};

std::shared_ptr<Device> CreateNullDevice(const NullDeviceOptions& options);

}  // namespace tvmvm
