// The conformance suite on the first OpenCL device, or the one that TVMVM_TEST_OPENCL names.
#include <cstdlib>

#include "tests/devices/conformance.h"
#include "tests/folders.h"

namespace tvmvm::testing {

const ConformanceDevice& DeviceUnderTest() {
  static const ConformanceDevice device = {
      .create = [](const DeviceOptions& options) -> Expected<std::shared_ptr<Device>> {
        const char* chosen = std::getenv("TVMVM_TEST_OPENCL");
        return OpenDevice(chosen != nullptr ? chosen : "opencl", options);
      },
      .kind = DeviceKind::kOpenCl,
      .form = KernelForm::kOpenClC,
      .target = "",
      .library = ReadBytes(SourcePath("tests/devices/kernels/conformance.cl")),
      .skipped = {},
  };
  return device;
}

}  // namespace tvmvm::testing
