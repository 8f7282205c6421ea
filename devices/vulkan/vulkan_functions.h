// The Vulkan functions that this device calls, found at run time.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <string>

#include "tvm-vm/status.h"

namespace tvmvm {

#define TVMVM_VULKAN_GLOBAL_FUNCTIONS(X) \
  X(CreateInstance)                      \
  X(EnumerateInstanceLayerProperties)

#define TVMVM_VULKAN_INSTANCE_FUNCTIONS(X)  \
  X(DestroyInstance)                        \
  X(EnumeratePhysicalDevices)               \
  X(EnumerateDeviceExtensionProperties)     \
  X(GetPhysicalDeviceProperties)            \
  X(GetPhysicalDeviceProperties2)           \
  X(GetPhysicalDeviceFeatures2)             \
  X(GetPhysicalDeviceMemoryProperties)      \
  X(GetPhysicalDeviceQueueFamilyProperties) \
  X(CreateDevice)                           \
  X(GetDeviceProcAddr)

#define TVMVM_VULKAN_DEVICE_FUNCTIONS(X) \
  X(DestroyDevice)                       \
  X(GetDeviceQueue)                      \
  X(DeviceWaitIdle)                      \
  X(AllocateMemory)                      \
  X(FreeMemory)                          \
  X(MapMemory)                           \
  X(CreateBuffer)                        \
  X(DestroyBuffer)                       \
  X(GetBufferMemoryRequirements)         \
  X(BindBufferMemory)                    \
  X(CreateShaderModule)                  \
  X(DestroyShaderModule)                 \
  X(CreatePipelineLayout)                \
  X(DestroyPipelineLayout)               \
  X(CreatePipelineCache)                 \
  X(DestroyPipelineCache)                \
  X(GetPipelineCacheData)                \
  X(CreateComputePipelines)              \
  X(DestroyPipeline)                     \
  X(CreateCommandPool)                   \
  X(DestroyCommandPool)                  \
  X(AllocateCommandBuffers)              \
  X(BeginCommandBuffer)                  \
  X(EndCommandBuffer)                    \
  X(ResetCommandBuffer)                  \
  X(CmdBindPipeline)                     \
  X(CmdPushConstants)                    \
  X(CmdDispatch)                         \
  X(CmdCopyBuffer)                       \
  X(CmdFillBuffer)                       \
  X(CmdPipelineBarrier)                  \
  X(CreateFence)                         \
  X(DestroyFence)                        \
  X(ResetFences)                         \
  X(GetFenceStatus)                      \
  X(WaitForFences)                       \
  X(QueueSubmit)

#define TVMVM_VULKAN_DECLARE(name) PFN_vk##name name = nullptr;

struct VulkanGlobalFunctions {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  TVMVM_VULKAN_GLOBAL_FUNCTIONS(TVMVM_VULKAN_DECLARE)

  // Opens the loader. Errors: kNotFound.
  static Expected<VulkanGlobalFunctions> Load();
};

struct VulkanInstanceFunctions {
  TVMVM_VULKAN_INSTANCE_FUNCTIONS(TVMVM_VULKAN_DECLARE)
  PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessengerEXT = nullptr;  // null without the extension
  PFN_vkDestroyDebugUtilsMessengerEXT DestroyDebugUtilsMessengerEXT = nullptr;
  PFN_vkVoidFunction GetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      nullptr;  // null: no device has matrices

  static Expected<VulkanInstanceFunctions> Load(const VulkanGlobalFunctions& global, VkInstance instance);
};

struct VulkanDeviceFunctions {
  TVMVM_VULKAN_DEVICE_FUNCTIONS(TVMVM_VULKAN_DECLARE)
  PFN_vkGetBufferDeviceAddress GetBufferDeviceAddress = nullptr;  // core since 1.2, else of the extension

  static Expected<VulkanDeviceFunctions> Load(const VulkanInstanceFunctions& instance, VkDevice device);
};

#undef TVMVM_VULKAN_DECLARE

// "VK_ERROR_DEVICE_LOST", ...; the number where it has no name here.
std::string VulkanResultName(VkResult result);
// kDeviceLost, kOutOfMemory or kUnsupported by the result; `what` was being done.
Error VulkanError(VkResult result, const std::string& what);

}  // namespace tvmvm
