// What a SPIR-V module asks of a device, read from its words.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "devices/vulkan/vulkan_features.h"

namespace tvmvm {

// "" where the device can run the module, else what it lacks: a capability, a size of work-groups. A module
// that is cut off or has no entry point "main" lacks "a well-formed module".
std::string MissingFor(std::span<const uint32_t> module, const VulkanHardware& hardware);

}  // namespace tvmvm
