// The conformance suite on the added device.
#include "devices/echo/echo_device.h"
#include "tests/devices/conformance.h"

namespace tvmvm::testing {

const ConformanceDevice& DeviceUnderTest() {
  constexpr const char* kOnlyEchoes = "its kernels echo";
  constexpr const char* kTakesAnything = "it takes any kernels";
  static const ConformanceDevice device = {
      .create = [](const DeviceOptions&) -> Expected<std::shared_ptr<Device>> { return CreateEchoDevice(); },
      .kind = DeviceKind::kEcho,
      .form = KernelForm::kOpenClC,
      .target = "",
      .library = {},
      .skipped = {{"RunsKernelsAtRaggedSizes", kOnlyEchoes},
                  {"RunsLargeGrids", kOnlyEchoes},
                  {"TakesManyArguments", kOnlyEchoes},
                  {"RunsInOrder", kOnlyEchoes},
                  {"CopiesAndKernelsAreInOrder", kOnlyEchoes},
                  {"IndependentLaunchesMayRunTogether", kOnlyEchoes},
                  {"LaunchesOnPartsOfABlock", kOnlyEchoes},
                  {"RepeatsCallsWithOtherNumbers", kOnlyEchoes},
                  {"TellsWhichLaunchFailed", kOnlyEchoes},
                  {"RemembersAFailureThroughManyLaunches", kOnlyEchoes},
                  {"FreesMemoryAfterItsWork", kOnlyEchoes},
                  {"QueuesWorkSideBySide", kOnlyEchoes},
                  {"NamesUnknownKernels", kTakesAnything},
                  {"RefusesProgramsWithoutItsForm", kTakesAnything},
                  {"RefusesMalformedLibraries", kTakesAnything},
                  {"CachesSurviveDamage", "nothing is compiled here"},
                  {"ObeysItsBudget", "it has no limit"},
                  {"IsOpenedAnew", "it is never lost"}},
  };
  return device;
}

}  // namespace tvmvm::testing
