#include "devices/vulkan/vulkan_functions.h"

#include "devices/driver/shared_library.h"

namespace tvmvm {

Expected<VulkanGlobalFunctions> VulkanGlobalFunctions::Load() {
  TVMVM_TRY(const SharedLibrary library, SharedLibrary::Open("libvulkan.so.1"));
  VulkanGlobalFunctions f;
  f.GetInstanceProcAddr = library.Find<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr");
  if (f.GetInstanceProcAddr == nullptr)
    return MakeError(Code::kNotFound, "libvulkan.so.1 has no vkGetInstanceProcAddr");
#define TVMVM_FIND(name)                                                                      \
  f.name = reinterpret_cast<PFN_vk##name>(f.GetInstanceProcAddr(VK_NULL_HANDLE, "vk" #name)); \
  if (f.name == nullptr) return MakeError(Code::kUnsupported, "the Vulkan loader has no vk" #name);
  TVMVM_VULKAN_GLOBAL_FUNCTIONS(TVMVM_FIND)
#undef TVMVM_FIND
  return f;
}

Expected<VulkanInstanceFunctions> VulkanInstanceFunctions::Load(const VulkanGlobalFunctions& global,
                                                                VkInstance instance) {
  VulkanInstanceFunctions f;
  auto find = [&](const char* name) { return global.GetInstanceProcAddr(instance, name); };
#define TVMVM_FIND(name)                                     \
  f.name = reinterpret_cast<PFN_vk##name>(find("vk" #name)); \
  if (f.name == nullptr) return MakeError(Code::kUnsupported, "the Vulkan instance has no vk" #name);
  TVMVM_VULKAN_INSTANCE_FUNCTIONS(TVMVM_FIND)
#undef TVMVM_FIND
  f.CreateDebugUtilsMessengerEXT =
      reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(find("vkCreateDebugUtilsMessengerEXT"));
  f.DestroyDebugUtilsMessengerEXT =
      reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(find("vkDestroyDebugUtilsMessengerEXT"));
  f.GetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      find("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  return f;
}

Expected<VulkanDeviceFunctions> VulkanDeviceFunctions::Load(const VulkanInstanceFunctions& instance,
                                                            VkDevice device) {
  VulkanDeviceFunctions f;
  auto find = [&](const char* name) { return instance.GetDeviceProcAddr(device, name); };
#define TVMVM_FIND(name)                                     \
  f.name = reinterpret_cast<PFN_vk##name>(find("vk" #name)); \
  if (f.name == nullptr) return MakeError(Code::kUnsupported, "the Vulkan device has no vk" #name);
  TVMVM_VULKAN_DEVICE_FUNCTIONS(TVMVM_FIND)
#undef TVMVM_FIND
  for (const char* name : {"vkGetBufferDeviceAddress", "vkGetBufferDeviceAddressKHR"})
    if (f.GetBufferDeviceAddress == nullptr)
      f.GetBufferDeviceAddress = reinterpret_cast<PFN_vkGetBufferDeviceAddress>(find(name));
  if (f.GetBufferDeviceAddress == nullptr)
    return MakeError(Code::kUnsupported, "the Vulkan device has no vkGetBufferDeviceAddress");
  return f;
}

std::string VulkanResultName(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    default:
      return "VkResult " + std::to_string(result);
  }
}

Error VulkanError(VkResult result, const std::string& what) {
  Code code = Code::kUnsupported;
  if (result == VK_ERROR_DEVICE_LOST) code = Code::kDeviceLost;
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
      result == VK_ERROR_TOO_MANY_OBJECTS)
    code = Code::kOutOfMemory;
  return {code, what + ": " + VulkanResultName(result)};
}

}  // namespace tvmvm
