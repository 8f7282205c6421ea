// The first Vulkan device for tests of its parts, under the validation layer where it is installed.
#pragma once

#include <memory>

#include "devices/vulkan/vulkan_context.h"

namespace tvmvm::testing {

// Errors: kNotFound where there is none, and what else keeps it from being opened: tests skip with it.
inline Expected<std::shared_ptr<VulkanContext>> FirstVulkan() {
  auto instance = VulkanInstance::Get(true);
  if (!instance) instance = VulkanInstance::Get(false);
  if (!instance) return tl::unexpected(instance.error());
  if ((*instance)->physical_devices().empty()) return MakeError(Code::kNotFound, "no Vulkan device");
  const VulkanHardware hardware =
      ReadHardware((*instance)->functions(), (*instance)->physical_devices().front());
  return VulkanContext::Create(*instance, hardware, "vulkan:0");
}

}  // namespace tvmvm::testing
