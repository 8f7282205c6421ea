// The conformance suite on the CPU.
#include "tests/devices/conformance.h"
#include "tests/folders.h"
#include "tvm-vm/cpu_device.h"

namespace tvmvm::testing {

const ConformanceDevice& DeviceUnderTest() {
  static const ConformanceDevice device = {
      .create = [](const DeviceOptions& options) -> Expected<std::shared_ptr<Device>> {
        return CreateCpuDevice(options.cpu);
      },
      .kind = DeviceKind::kCpu,
      .form = KernelForm::kSharedObject,
      .target = "host",
      .library = ReadBytes(BuildPath("test_kernels/conformance.so")),
      .skipped = {{"IsOpenedAnew", "it is never lost"},
                  {"CachesSurviveDamage", "nothing is compiled here"},
                  {"ObeysItsBudget", "Limits of an Invocation bound memory of the host"}},
  };
  return device;
}

}  // namespace tvmvm::testing
