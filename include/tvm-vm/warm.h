// What a device's driver makes of a program's kernels, made ahead of the first run.
#pragma once

#include <span>
#include <string>

#include "tvm-vm/device.h"
#include "tvm-vm/export.h"
#include "tvm-vm/program.h"
#include "tvm-vm/trust.h"

namespace tvmvm {

struct WarmResult {
  size_t kernels = 0;  // that a run on the device launches there
  std::string form;    // of them: "SPIR-V", "OpenCL C"; empty where there are none
};

// Builds the kernels that a run on this GPU would launch, as Vm::Create does, so that the driver's binaries
// lie in the device's cache folder (DeviceOptions::cache_folder); nothing is kept in memory, no constant is
// copied. `progress` is told how many are ready, on any thread, one at a time. `trust` and `keys` as in
// VmOptions: a driver's compiler sees nothing that is refused. Errors: kUnsupported where the program was not
// compiled for GPUs; kInvalidProgram where its kernels are refused; as Device::LoadKernels.
[[nodiscard]] TVMVM_EXPORT Expected<WarmResult> WarmKernels(const Program& program, Device& device,
                                                            const LoadProgress& progress = {},
                                                            Trust trust = Trust::kAny,
                                                            std::span<const PublicKey> keys = {});

// How many kernels that is on any GPU.
TVMVM_EXPORT size_t GpuKernelCount(const Program& program);

}  // namespace tvmvm
