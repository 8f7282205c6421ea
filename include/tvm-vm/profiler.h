// Profiler: what the kernels of a program cost, from an Invocation's launches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tvm-vm/export.h"
#include "tvm-vm/vm.h"

namespace tvmvm {

struct KernelProfile {
  KernelId kernel;
  uint32_t device = kHostDevice;  // its number in the program
  int64_t launches = 0;
  int64_t nanoseconds = 0;
  int64_t flops = 0;  // estimates of the compiler
  int64_t bytes = 0;
};

// Copies in one direction between devices, or within one.
struct CopyProfile {
  uint32_t from = kHostDevice, to = kHostDevice;
  int64_t copies = 0;
  int64_t nanoseconds = 0;
  int64_t bytes = 0;
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

  // Kernels that were launched, on each device, the costliest first.
  std::vector<KernelProfile> Kernels() const;
  // The directions in which something was copied, the costliest first.
  std::vector<CopyProfile> Copies() const;
  // "cpu", "vulkan:0"
  std::string DeviceName(uint32_t device) const;
  // One line per kernel, one per direction of copies, and a total: share, time, launches, time of one launch,
  // GFLOP/s, GB/s, device, name, source node.
  std::string Table() const;
  // The launches and copies as Chrome trace JSON; only with keep_launches.
  std::string ChromeTrace() const;

 private:
  std::shared_ptr<const Program> program_;
  bool keep_launches_;
  std::vector<DeviceUse> devices_;
  std::vector<KernelProfile> kernels_;  // by device and KernelId
  std::vector<CopyProfile> copies_;     // by from and to
  std::vector<LaunchRecord> launches_;
  std::vector<CopyRecord> copy_records_;
};

}  // namespace tvmvm
