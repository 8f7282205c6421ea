// What this machine's CPU does at most, measured: the tool compares kernels with it (`bench --profile`).
#pragma once

#include "tvm-vm/profiler.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::cli {

// Measures for a second or so: multiply-adds in registers with the vectors of `level`, and memory gone
// through again and again, 8 KB to 256 MB of it, divided among `threads` threads that run at once. The best
// of several short tries counts, so that what else runs here does little harm. Without speeds on machines
// that nobody wrote a probe for.
MachineLimits MeasureMachine(CpuLevel level, int threads);

}  // namespace tvmvm::cli
