// Copies and fills that may take long, a part at a time, so that a run's end is noticed within.
#pragma once

#include <cstdint>

#include "tvm-vm/device.h"

namespace tvmvm {

// As memmove. False: the run is to end, and some of it is done.
[[nodiscard]] bool CopyBytes(const CancelToken& cancel, char* to, const char* from, int64_t bytes);
[[nodiscard]] bool FillBytes(const CancelToken& cancel, char* to, int value, int64_t bytes);

}  // namespace tvmvm
