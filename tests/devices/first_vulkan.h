// The first Vulkan device for tests of its parts, under the validation layer where it is installed.
#pragma once

#include <memory>

#include "devices/vulkan/vulkan_context.h"

namespace tvmvm::testing {

// `change` makes it say that it is another one; may be null. Errors: kNotFound where there is none, and what
// else keeps it from being opened: tests skip with it.
inline Expected<std::shared_ptr<VulkanContext>> FirstVulkan(void (*change)(VulkanHardware*) = nullptr) {
  auto instance = VulkanInstance::Get(true);
  if (!instance) instance = VulkanInstance::Get(false);
  if (!instance) return tl::unexpected(instance.error());
  if ((*instance)->physical_devices().empty()) return MakeError(Code::kNotFound, "no Vulkan device");
  VulkanHardware hardware = ReadHardware((*instance)->functions(), (*instance)->physical_devices().front());
  if (change != nullptr) change(&hardware);
  return VulkanContext::Create(*instance, hardware, "vulkan:0");
}

// The driver's functions, for a test to put others in their places.
inline VulkanDeviceFunctions& FunctionsOf(VulkanContext* context) {
  return const_cast<VulkanDeviceFunctions&>(context->f());
}

// While it lives, the device seems to be done with nothing. Of one context at a time.
class BusyVulkan {
 public:
  explicit BusyVulkan(VulkanContext* context) : context_(context), functions_(context->f()) {
    FunctionsOf(context).GetFenceStatus = [](VkDevice, VkFence) { return VK_NOT_READY; };
    FunctionsOf(context).WaitForFences = [](VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t) {
      return VK_TIMEOUT;
    };
  }
  ~BusyVulkan() { FunctionsOf(context_) = functions_; }
  BusyVulkan(const BusyVulkan&) = delete;
  BusyVulkan& operator=(const BusyVulkan&) = delete;

 private:
  VulkanContext* context_;
  VulkanDeviceFunctions functions_;
};

}  // namespace tvmvm::testing
