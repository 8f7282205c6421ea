#include "tvm-vm/warm.h"

#include <algorithm>
#include <set>

#include "bytecode/guarded.h"
#include "serializer/trusted_libraries.h"
#include "vm/binding/uses.h"

namespace tvmvm {
namespace {

std::vector<KernelSpec> GpuKernels(const Program& program) {
  std::set<uint32_t> ids;
  for (const DeviceEntry& entry : program.device_entries) {
    const Uses uses = UsesOf(program, entry.function);
    for (size_t number = 0; number < program.devices.size(); ++number)
      if (program.devices[number].device_class == DeviceClass::kGpu)
        ids.insert(uses.devices[number].kernels.begin(), uses.devices[number].kernels.end());
  }
  std::vector<KernelSpec> kernels;
  for (uint32_t id : ids) kernels.push_back(program.kernels[id]);
  return kernels;
}

}  // namespace

size_t GpuKernelCount(const Program& program) { return GpuKernels(program).size(); }

Expected<WarmResult> WarmKernels(const Program& program, Device& device, const LoadProgress& progress,
                                 Trust trust, std::span<const PublicKey> keys) {
  return Guarded([&]() -> Expected<WarmResult> {
    if (ClassOf(device.target().device) != DeviceClass::kGpu)
      return MakeError(Code::kInvalidArgument, device.name() + " is no GPU: its kernels are machine code");
    if (program.device_entries.empty())
      return MakeError(Code::kUnsupported, "the program was not compiled for a GPU");
    const std::vector<KernelSpec> kernels = GpuKernels(program);
    if (kernels.empty()) return WarmResult{};
    const TrustedLibraries trusted = LibrariesToTrust(program, {trust, keys});
    const bool has_kernels = std::ranges::any_of(trusted.libraries, [&](const KernelLibrarySpec& library) {
      return library.device == device.target().device;
    });
    if (!has_kernels && !trusted.refused.empty())
      return MakeError(Code::kInvalidProgram, "the program's kernels are refused: " + trusted.refused);
    const LoadProgress watched = progress ? progress : [](size_t) {};
    TVMVM_TRY(const std::unique_ptr<KernelSet> set, device.LoadKernels(kernels, trusted.libraries, watched));
    return WarmResult{kernels.size(), set->description()};
  });
}

}  // namespace tvmvm
