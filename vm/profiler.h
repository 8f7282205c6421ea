// Profiler: what the kernels of a program cost, from an Invocation's launches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vm/vm.h"

namespace tvmvm {

struct KernelProfile {
  KernelId kernel;
  int64_t launches = 0;
  int64_t nanoseconds = 0;
  int64_t flops = 0;  // estimates of the compiler
  int64_t bytes = 0;
};

// Not thread-safe; outlives the Invocations that hold its observer.
class Profiler {
 public:
  // `devices`: of the Vm whose runs are observed (Vm::Devices), so that kernels are shown with the device
  // that they run on; without it, with its class.
  explicit Profiler(std::shared_ptr<const Program> program, bool keep_launches = false,
                    std::vector<DeviceUse> devices = {});

  // Give it to Invocation::SetLaunchObserver.
  LaunchObserver observer();
  void Clear();

  // Kernels that were launched, the costliest first.
  std::vector<KernelProfile> Kernels() const;
  // "cpu", "vulkan:0"
  std::string DeviceOf(KernelId kernel) const;
  // One line per kernel and a total: share, time, launches, time of one launch, GFLOP/s, GB/s, device, name,
  // source node.
  std::string Table() const;
  // The launches as Chrome trace JSON; only with keep_launches.
  std::string ChromeTrace() const;

 private:
  std::shared_ptr<const Program> program_;
  bool keep_launches_;
  std::vector<DeviceUse> devices_;      // by queue
  std::vector<KernelProfile> kernels_;  // by KernelId
  std::vector<LaunchRecord> launches_;
};

}  // namespace tvmvm
