// Profiler: what the kernels of a program cost, from an Invocation's launches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tvm-vm/export.h"
#include "tvm-vm/vm.h"

namespace tvmvm {

// The most that a CPU does in a time, with as many threads as the Vm has. Whoever profiles measures it (as
// `tvm-vm bench` does): the library measures nothing.
struct MachineLimits {
  // Operations in a nanosecond, by what they compute in: a fused multiply-add is two.
  double f32 = 0, f64 = 0;
  double bytes = 0;  // sums of products of bytes
  // Bytes in a nanosecond, where so many are gone through again and again; by size, which rises.
  struct Bandwidth {
    int64_t size = 0;
    double bytes = 0;
  };
  std::vector<Bandwidth> bandwidths;

  // That of the largest size that is within `bytes`, so of a cache that holds more than these: it is no
  // less than what can be seen. 0 where there is none.
  TVMVM_EXPORT double BandwidthOf(int64_t bytes) const;
  // The fastest arithmetic that the kernel may compute in, by the elements that it touches.
  TVMVM_EXPORT double OperationsOf(const KernelSpec& kernel) const;
};

struct KernelProfile {
  KernelId kernel;
  uint32_t device = kHostDevice;  // its number in the program
  int64_t launches = 0;
  int64_t nanoseconds = 0;
  int64_t flops = 0;  // estimates of the compiler
  int64_t bytes = 0;
  // What the machine's limits would allow: for the operations alone, for the bytes alone, and for the greater
  // of both in each launch. 0 without limits, and on other devices than the CPU.
  double flops_ns = 0, bytes_ns = 0, limit_ns = 0;
};

// Copies in one direction between devices, or within one.
struct CopyProfile {
  uint32_t from = kHostDevice, to = kHostDevice;
  int64_t copies = 0;
  int64_t nanoseconds = 0;
  int64_t bytes = 0;
};

// A stretch of time that a trace shows above the launches: a run, loading.
struct TraceSlice {
  std::string name;
  int64_t begin_ns = 0, end_ns = 0;                        // steady clock
  std::vector<std::pair<std::string, std::string>> facts;  // shown with it: name, text
  int64_t held_bytes = -1;                                 // when it ended; < 0: not told
};

// Not thread-safe; outlives the Invocations that hold its observer.
class TVMVM_EXPORT Profiler {
 public:
  // `devices`: of the Vm whose runs are observed (Vm::Devices), so that kernels are shown with the device
  // that they run on; without it, as "gpu".
  explicit Profiler(std::shared_ptr<const Program> program, bool keep_launches = false,
                    std::vector<DeviceUse> devices = {});

  // Give it to Invocation::SetLaunchObserver.
  LaunchObserver observer();
  // And this to SetCopyObserver.
  CopyObserver copy_observer();
  void Clear();
  // Compares what is launched from now on with these.
  void SetLimits(MachineLimits limits) { limits_ = std::move(limits); }

  // Kernels that were launched, on each device, the costliest first.
  std::vector<KernelProfile> Kernels() const;
  // The directions in which something was copied, the costliest first.
  std::vector<CopyProfile> Copies() const;
  // Of all launches and copies.
  int64_t total_nanoseconds() const;
  // "cpu", "vulkan:0"
  std::string DeviceName(uint32_t device) const;
  // One line per kernel, one per direction of copies, and a total: share, time, launches, time of one launch,
  // GFLOP/s, GB/s, device, name, source node. With limits also their percentages: of the operations, of the
  // bytes, and of the one that binds the kernel.
  std::string Table() const;
  void AddSlice(TraceSlice slice) { slices_.push_back(std::move(slice)); }
  // The launches and copies, a row for each device, below the slices, with what was held of memory at their
  // ends; as Chrome trace JSON. Launches only with keep_launches.
  std::string ChromeTrace() const;

 private:
  std::shared_ptr<const Program> program_;
  bool keep_launches_;
  std::vector<DeviceUse> devices_;
  std::optional<MachineLimits> limits_;
  std::vector<KernelProfile> kernels_;  // by device and KernelId
  std::vector<CopyProfile> copies_;     // by from and to
  std::vector<LaunchRecord> launches_;
  std::vector<CopyRecord> copy_records_;
  std::vector<TraceSlice> slices_;
};

}  // namespace tvmvm
