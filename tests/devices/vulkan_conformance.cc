// The conformance suite on the first Vulkan device, or the one that TVMVM_TEST_VULKAN names, under the
// validation layer where it is installed.
#include <cstdlib>
#include <cstring>

#include "bytecode/spirv_library.h"
#include "tests/devices/conformance.h"
#include "tests/folders.h"

namespace tvmvm::testing {
namespace {

// The modules that glslangValidator made of tests/devices/kernels/glsl.
std::vector<std::byte> Library() {
  std::vector<SpirvModule> modules;
  for (const char* name : {"axpy", "mark", "many", "check", "advance"}) {
    const std::vector<std::byte> bytes = ReadBytes(BuildPath("test_kernels/") + std::string(name) + ".spv");
    SpirvModule module{name, std::vector<uint32_t>(bytes.size() / 4)};
    // Without glslangValidator there are no modules.
    if (!bytes.empty()) std::memcpy(module.words.data(), bytes.data(), module.words.size() * 4);
    modules.push_back(std::move(module));
  }
  auto library = PackSpirvLibrary(std::move(modules));
  return library ? *library : std::vector<std::byte>();
}

Expected<std::shared_ptr<Device>> Create(DeviceOptions options) {
  const char* chosen = std::getenv("TVMVM_TEST_VULKAN");
  const std::string name = chosen != nullptr ? chosen : "vulkan";
  options.validation = true;
  auto device = OpenDevice(name, options);
  if (device || device.error().code != Code::kUnsupported) return device;
  options.validation = false;  // the layer is not installed
  return OpenDevice(name, options);
}

}  // namespace

const ConformanceDevice& DeviceUnderTest() {
  static const ConformanceDevice device = {
      .create = Create,
      .kind = DeviceKind::kVulkan,
      .form = KernelForm::kSpirV,
      .target = "",
      .library = Library(),
      .skipped = {},
  };
  return device;
}

}  // namespace tvmvm::testing
