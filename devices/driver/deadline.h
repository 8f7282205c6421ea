// The deadline of whoever calls a device.
#pragma once

#include <cstdint>

#include "tvm-vm/device.h"

namespace tvmvm {

// 0 where there is none; `cancel` may be null.
inline int64_t DeadlineOf(const CancelToken* cancel) { return cancel != nullptr ? cancel->deadline_ns() : 0; }

}  // namespace tvmvm
