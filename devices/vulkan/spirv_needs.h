// What a SPIR-V module asks of a device, read from its words, and what it is to ask for besides.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bytecode/spirv_library.h"
#include "devices/vulkan/vulkan_features.h"

namespace tvmvm {

// "" where the device can run the module, else what it lacks: a capability, a size of work-groups. A module
// that is cut off or has no entry point "main" lacks "a well-formed module".
std::string MissingFor(std::span<const uint32_t> module, const VulkanHardware& hardware);
// Whether the module has matrices, and so wants subgroups of kMatrixSubgroup.
bool HasMatrices(std::span<const uint32_t> module);
// The module that the device runs for a symbol: one of kSpirvAlternatives where the device has what it needs;
// empty: the library has none.
std::span<const uint32_t> ModuleFor(const SpirvLibrary& library, const std::string& symbol,
                                    const VulkanHardware& hardware);

// The module with the request to keep NaN, where the device can (SPV_KHR_float_controls). Drivers may compile
// as if there were none: x < 1 ? 1 : x becomes a maximum then, which loses them. Nothing is missing for it.
std::vector<uint32_t> KeepingNan(std::span<const uint32_t> module, const VulkanHardware& hardware);

}  // namespace tvmvm
