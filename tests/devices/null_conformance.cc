// The conformance suite on the null device, which computes nothing.
#include "devices/null/null_device.h"
#include "tests/devices/conformance.h"

namespace tvmvm::testing {

const ConformanceDevice& DeviceUnderTest() {
  constexpr const char* kComputesNothing = "it computes nothing";
  constexpr const char* kTakesAnything = "it takes any kernels";
  static const ConformanceDevice device = {
      .create = [](const DeviceOptions& options) -> Expected<std::shared_ptr<Device>> {
        NullDeviceOptions null;
        null.max_bytes = options.max_bytes;
        return CreateNullDevice(null);
      },
      .kind = DeviceKind::kNull,
      .form = KernelForm::kOpenClC,
      .target = "",
      .library = {},
      .skipped = {{"RunsKernelsAtRaggedSizes", kComputesNothing},
                  {"RunsLargeGrids", kComputesNothing},
                  {"TakesManyArguments", kComputesNothing},
                  {"RunsInOrder", kComputesNothing},
                  {"CopiesAndKernelsAreInOrder", kComputesNothing},
                  {"IndependentLaunchesMayRunTogether", kComputesNothing},
                  {"LaunchesOnPartsOfABlock", kComputesNothing},
                  {"RepeatsCallsWithOtherNumbers", kComputesNothing},
                  {"TellsWhichLaunchFailed", kComputesNothing},
                  {"RemembersAFailureThroughManyLaunches", kComputesNothing},
                  {"FreesMemoryAfterItsWork", kComputesNothing},
                  {"QueuesWorkSideBySide", kComputesNothing},
                  {"NamesUnknownKernels", kTakesAnything},
                  {"RefusesProgramsWithoutItsForm", kTakesAnything},
                  {"RefusesMalformedLibraries", kTakesAnything},
                  {"CachesSurviveDamage", "nothing is compiled here"}},
  };
  return device;
}

}  // namespace tvmvm::testing
