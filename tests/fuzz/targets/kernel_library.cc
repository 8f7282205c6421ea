// Kernel libraries, before a loader or a driver sees them: shared objects, and SPIR-V modules with what they
// need.
#include <cstring>
#include <vector>

#include "bytecode/spirv_library.h"
#include "devices/cpu/elf_check.h"
#include "devices/vulkan/spirv_needs.h"
#include "tests/fuzz/targets/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  // Aligned as a program's blobs are, and no byte longer.
  void* memory = nullptr;
  Require(posix_memalign(&memory, 64, size + (size == 0)) == 0, "no memory");
  std::memcpy(memory, data, size);
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(memory), size);
  if (const Status status = CheckKernelObject(bytes); !status) RequireProper(status.error());

  VulkanHardware hardware;
  hardware.has_i64 = true;
  const auto look_at = [&](std::span<const uint32_t> module) {
    MissingFor(module, hardware);
    HasMatrices(module);
    KeepingNan(module, hardware);
  };
  look_at({static_cast<const uint32_t*>(memory), size / sizeof(uint32_t)});
  const auto library = SpirvLibrary::Open(bytes);
  RequireProper(library);
  for (size_t i = 0; library && i < library->size(); ++i) {
    look_at(library->module(i));
    ModuleFor(*library, std::string(library->symbol(i)), hardware);
    Require(library->Find(library->symbol(i)).data() == library->module(i).data(), "a symbol is not found");
  }
  std::free(memory);
  return 0;
}
