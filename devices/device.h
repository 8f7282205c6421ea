// Device: memory and kernels of one piece of hardware, behind a small pure interface. What a device can do is
// data in TargetInfo. A Device is shared by threads and VMs; queues order work; nothing here knows bytecode.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bytecode/kernel_abi.h"
#include "bytecode/program.h"
#include "bytecode/status.h"
#include "bytecode/target_info.h"

namespace tvmvm {

// A block of device memory. `host` is its address where the host can read and write it directly, else null.
struct DeviceMemory {
  void* host = nullptr;
  uint64_t handle = 0;  // the device's own name of the block; CPU: the address
  int64_t bytes = 0;
};

// A place in device memory.
struct DeviceSpan {
  DeviceMemory memory;
  int64_t offset = 0;
};

// Kernels of one program made ready on one device; index = position in the span given to LoadKernels.
class KernelSet {
 public:
  virtual ~KernelSet() = default;
  // Which form was taken: "x86-64-v4 shared object", "jit (host)", ...
  virtual std::string description() const = 0;
};

struct LaunchRequest {
  const KernelSet* kernels = nullptr;
  uint32_t kernel = 0;          // index in the set
  int64_t grid[3] = {1, 1, 1};  // any 0: nothing runs
  int64_t scratch_bytes = 0;    // per worker
  int64_t flops = 0;            // estimates of the whole launch
  int64_t bytes = 0;
  std::span<const int64_t> scalars;
  std::span<void* const> buffers;  // CPU: addresses
};

// Asked by long launches between tiles. Set by other threads.
class CancelToken {
 public:
  virtual ~CancelToken() = default;
  virtual bool cancelled() const = 0;  // cheap; true when cancelled or past the deadline
};

struct DeviceStatistics {
  int64_t live_bytes = 0;
  int64_t peak_bytes = 0;
  int64_t launches = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;  // "cpu"
  virtual const TargetInfo& target() const = 0;

  // Memory of at least `bytes` bytes, 64-byte aligned, uninitialised. Errors: kOutOfMemory with the amount
  // asked.
  virtual Expected<DeviceMemory> Allocate(int64_t bytes) = 0;
  virtual void Free(const DeviceMemory& memory) = 0;

  // Synchronous for the host memory given; ordered after all work submitted to queue 0.
  virtual Status CopyIn(const DeviceSpan& to, const void* from, int64_t bytes) = 0;
  virtual Status CopyOut(void* to, const DeviceSpan& from, int64_t bytes) = 0;
  virtual Status Copy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes) = 0;
  virtual Status Fill(const DeviceSpan& to, uint8_t value, int64_t bytes) = 0;

  // Chooses the best library that this machine can run; every kernel must be in it. Errors: kUnsupported
  // saying what the program holds and what the machine has; kInvalidProgram for a missing or malformed
  // kernel.
  virtual Expected<std::unique_ptr<KernelSet>> LoadKernels(std::span<const KernelSpec> kernels,
                                                           std::span<const KernelLibrarySpec> libraries) = 0;

  // Submits on an in-order queue. The CPU runs it before it returns. `cancel` may be null. The result is the
  // kernel's return code (0: fine) or an error of the device.
  virtual Expected<int32_t> Launch(const LaunchRequest& request, const CancelToken* cancel) = 0;
  virtual Status Wait() = 0;

  virtual DeviceStatistics statistics() const = 0;
};

// Runs a kernel's grid on threads. A service may inject its own pool. Implementations are thread-safe.
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;
  virtual int worker_count() const = 0;  // the caller included
  // Calls task(context, worker, begin, end) for disjoint parts that cover [0, count); the caller takes part;
  // returns when all parts are done. `grain`: the smallest part worth a thread.
  virtual void Run(int64_t count, int64_t grain,
                   void (*task)(void* context, int worker, int64_t begin, int64_t end), void* context) = 0;
};

// Turns LLVM bitcode into kernels for this host; provided by the compiler library, null in a runtime without
// it.
class KernelJit {
 public:
  virtual ~KernelJit() = default;
  // The returned functions live as long as `owner`; order as in `symbols`.
  struct Compiled {
    std::vector<KernelFunction> functions;
    std::shared_ptr<const void> owner;
  };
  virtual Expected<Compiled> Compile(std::span<const std::byte> bitcode,
                                     std::span<const std::string> symbols) = 0;
};

}  // namespace tvmvm
