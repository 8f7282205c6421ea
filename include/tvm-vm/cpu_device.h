// The CPU as a Device: memory from mimalloc, kernels from packed shared objects (loaded without LLVM) or from
// a JIT, grids on a WorkerPool.
#pragma once

#include <memory>

#include "tvm-vm/device.h"
#include "tvm-vm/export.h"

namespace tvmvm {

struct CpuDeviceOptions {
  int threads = 0;                   // 0: AvailableCpus()
  std::shared_ptr<WorkerPool> pool;  // null: the device makes its own of `threads` workers
  std::shared_ptr<KernelJit> jit;    // null: bitcode cannot be used
  std::string force_level;           // "": the best the CPU has; "x86-64-v3": at most that (tests)
};

TVMVM_EXPORT std::shared_ptr<Device> CreateCpuDevice(const CpuDeviceOptions& options);

// CPUs that this process may use: the affinity mask, limited by the cgroup quota (v2 cpu.max, v1 cfs), at
// least 1.
TVMVM_EXPORT int AvailableCpus();
// The best level that this CPU runs.
TVMVM_EXPORT CpuLevel HostCpuLevel();
// Workers that sleep between launches and never outnumber `threads`, the caller included. While launches come
// closer than 0.2 ms to one another they stay awake between them: to wake a thread costs 20 us, to find it
// awake less than one.
TVMVM_EXPORT std::shared_ptr<WorkerPool> CreateWorkerPool(int threads);

}  // namespace tvmvm
