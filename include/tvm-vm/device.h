// Device: memory and kernels of one piece of hardware, behind a small pure interface. What a device can do is
// data in TargetInfo and DeviceDescription. A Device is shared by threads and VMs; a Queue orders the work of
// one caller; nothing here knows bytecode.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tvm-vm/export.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"
#include "tvm-vm/target_info.h"

namespace tvmvm {

struct KernelArgs;
// A kernel's code on the CPU: runs the grid points [grid_begin, grid_end); 0, or the number of a failure.
using KernelFunction = int32_t (*)(const KernelArgs* args, int64_t grid_begin, int64_t grid_end);

// A block of device memory. `host` is its address where the host can read and write it directly and
// coherently, else null. The host touches it only while no unfinished work of a queue uses it.
struct DeviceMemory {
  void* host = nullptr;
  uint64_t handle = 0;  // the device's own name of the block; CPU: the address
  int64_t bytes = 0;
};

// A place in device memory.
struct DeviceSpan {
  static constexpr int64_t kToTheEnd = INT64_MAX;
  DeviceMemory memory;
  int64_t offset = 0;
  // A launch touches at most this much from there on, so that work on other bytes need not wait for it.
  // Copies and fills say it themselves.
  int64_t bytes = kToTheEnd;
};

// Kernels of one program made ready on one device; index = position in the span given to LoadKernels.
// Shared by queues and their threads; outlives the work that was submitted with it.
class TVMVM_EXPORT KernelSet {
 public:
  virtual ~KernelSet() = default;
  // Which form was taken: "x86-64-v4 shared object", "jit (host)", "OpenCL C", "SPIR-V", ...
  virtual std::string description() const = 0;
};

// Everything that it points to is borrowed for the call alone.
struct LaunchRequest {
  const KernelSet* kernels = nullptr;
  uint32_t kernel = 0;          // index in the set
  int64_t grid[3] = {1, 1, 1};  // any 0: nothing runs. CPU: grid points; others: work-groups
  int64_t scratch_bytes = 0;    // CPU: per worker
  int64_t flops = 0;            // estimates of the whole launch
  int64_t bytes = 0;
  std::span<const int64_t> scalars;
  std::span<void* const> addresses;     // CPU: the buffers' addresses
  std::span<const DeviceSpan> buffers;  // other devices: where the buffers begin
  uint64_t tag = 0;                     // the caller's own; given back in KernelFailure
};

// A kernel that ended with a code (LaunchRequest::tag says which launch it was).
struct KernelFailure {
  uint64_t tag = 0;
  uint32_t kernel = 0;  // index in its set
  int32_t code = 0;     // not 0
};

// Asked by long launches between tiles and by waits. Set by other threads.
class TVMVM_EXPORT CancelToken {
 public:
  virtual ~CancelToken() = default;
  virtual bool cancelled() const = 0;  // cheap; true when cancelled or past the deadline
  // When that is, in nanoseconds of the steady clock; 0: there is none. What nothing can interrupt and would
  // end behind it is refused.
  virtual int64_t deadline_ns() const { return 0; }
};

// The work of one caller, in order: each piece finds what earlier ones wrote. Belongs to one thread at a
// time; queues of one device are independent of one another. Devices with memory of their own work
// asynchronously: calls submit and return, Wait gives the result. The CPU does everything before a call
// returns. Errors of every call: kDeviceLost; kInvalidArgument for bytes outside of the memory. Destroying a
// queue waits for its work.
// A queue has room for so much work. Calls that find none wait until some of it is done, and those that need
// memory of the driver's may take as long as Device::Allocate. They ask `cancel`, which may be null. Errors:
// kCancelled, kDeadlineExceeded, kOutOfMemory; the call has done nothing or a part then, and what was
// submitted before goes on.
class TVMVM_EXPORT Queue {
 public:
  virtual ~Queue() = default;

  // `from` may be changed as soon as it returns.
  virtual Status CopyIn(const DeviceSpan& to, const void* from, int64_t bytes, const CancelToken* cancel) = 0;
  // `to` stays valid until the next Wait and holds the bytes after it. Where the call fails it is not
  // written.
  virtual Status CopyOut(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken* cancel) = 0;
  // Between memory of this device. The places may overlap only on the CPU.
  virtual Status Copy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes,
                      const CancelToken* cancel) = 0;
  virtual Status Fill(const DeviceSpan& to, uint8_t value, int64_t bytes, const CancelToken* cancel) = 0;

  // Submits a launch. The result is the kernel's return code where the device runs it before it returns (the
  // CPU), else 0, and Wait tells. Devices that run it at once ask `cancel` meanwhile. Errors:
  // kInvalidArgument for a grid that cannot be; those of Device::LoadKernels where it left the kernel to its
  // first launch.
  virtual Expected<int32_t> Launch(const LaunchRequest& request, const CancelToken* cancel) = 0;

  // Hands work to the hardware that was only collected so far; waits for nothing.
  virtual Status Flush() = 0;
  // Waits for all work submitted so far. The result is the failure of the earliest launch since the last Wait
  // that ended with a code; the work behind it ran nevertheless, with whatever it found. `cancel` may be
  // null. Errors: kCancelled, and the work goes on: a later Wait waits for it.
  virtual Expected<std::optional<KernelFailure>> Wait(const CancelToken* cancel) = 0;

  // Gives memory back when the work submitted so far is done; waits for nothing. Where it throws bad_alloc
  // the memory stays the caller's.
  virtual void FreeAfterWork(const DeviceMemory& memory) = 0;
};

struct DeviceStatistics {
  int64_t live_bytes = 0;  // handed out
  int64_t peak_bytes = 0;
  int64_t held_bytes = 0;  // taken from the driver or the system, for memory that is handed out or kept ready
  int64_t blocks = 0;      // in which they lie
  int64_t launches = 0;
  int64_t waits = 0;  // of the host for work that was submitted; the CPU has none
  // What 2^20 bytes that are new from the driver take about, as far as is known; 0: nothing that counts.
  int64_t new_megabyte_ns = 0;
};

// What a device is built as, the fastest first.
enum class DeviceType : uint8_t {
  kDiscreteGpu = 0,
  kIntegratedGpu = 1,
  kVirtualGpu = 2,
  kCpu = 3,
  kOther = 4
};
TVMVM_EXPORT const char* DeviceTypeName(DeviceType type);  // "discrete GPU", "CPU", ...; "device" of others

// What `tvm-vm devices` says of a device.
struct DeviceDescription {
  std::string hardware;  // "NVIDIA H100 80GB HBM3"
  std::string driver;    // "NVIDIA 550.54.15"
  std::string api;       // "OpenCL 1.2", "Vulkan 1.3.230"
  int64_t memory_bytes = 0;
  std::vector<std::string>
      features;  // those that matter: "f16", "subgroups", "shared memory with the host", ...
  DeviceType type = DeviceType::kOther;
};

// Told how many kernels are ready, by one thread at a time. With one, nothing is left to the first launches.
using LoadProgress = std::function<void(size_t ready)>;

// Thread-safe.
class TVMVM_EXPORT Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;  // as it is selected: "cpu", "vulkan:0"
  virtual const TargetInfo& target() const = 0;
  virtual const DeviceDescription& description() const = 0;

  // Memory of at least `bytes` bytes, 64-byte aligned, uninitialised. Where the driver would take longer to
  // give it (DeviceStatistics::new_megabyte_ns) than there is until the deadline of `cancel`, which may be
  // null, it is not asked. Errors: kOutOfMemory with the amount asked; kDeadlineExceeded with that, what it
  // would take and what is left.
  virtual Expected<DeviceMemory> Allocate(int64_t bytes, const CancelToken* cancel) = 0;
  // No unfinished work uses the memory; else Queue::FreeAfterWork.
  virtual void Free(const DeviceMemory& memory) = 0;

  // Chooses the best library that this machine can run; every kernel must be in it. The libraries' bytes
  // outlive the set. Errors: kUnsupported saying what the program holds and what the machine has;
  // kInvalidProgram for a missing or malformed kernel. What the driver compiles is kept in the device's cache
  // folder, where it has one; what is found there may wait for its first launch.
  virtual Expected<std::unique_ptr<KernelSet>> LoadKernels(std::span<const KernelSpec> kernels,
                                                           std::span<const KernelLibrarySpec> libraries,
                                                           const LoadProgress& progress = {}) = 0;

  // The device outlives its queues.
  virtual Expected<std::unique_ptr<Queue>> NewQueue() = 0;

  virtual DeviceStatistics statistics() const = 0;

  // The same hardware opened anew, with the options that this device was opened with: what a service does
  // after kDeviceLost. This device stays lost: its memory, queues and kernels, and tensors and Vms that use
  // them, are not carried over and say so at every use; whoever goes on makes them anew on the device that is
  // returned. What the hardware holds for this device comes back when its last user lets go of it. Errors:
  // kUnsupported where a device cannot be lost; those of opening a device.
  virtual Expected<std::shared_ptr<Device>> Reopen() const;
};

// Runs a kernel's grid on threads. A service may inject its own pool. Implementations are thread-safe.
class TVMVM_EXPORT WorkerPool {
 public:
  virtual ~WorkerPool() = default;
  virtual int worker_count() const = 0;  // the caller included
  // Calls task(context, worker, begin, end) for disjoint parts that cover [0, count); the caller takes part;
  // returns when all parts are done. `grain`: the smallest part worth a thread.
  virtual void Run(int64_t count, int64_t grain,
                   void (*task)(void* context, int worker, int64_t begin, int64_t end), void* context) = 0;

  // Whether a thread stands by, so that a job reaches it within a microsecond or two: then small jobs are
  // worth it, too.
  virtual bool is_awake() const { return false; }
  // Says that a job was too small to wake threads for. Where such come closely one after another, threads
  // may be woken for the next ones; returns at once.
  virtual void Prepare() {}
};

// Turns LLVM bitcode into kernels for this host; provided by the compiler library, null in a runtime without
// it.
class TVMVM_EXPORT KernelJit {
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
