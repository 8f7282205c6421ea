// The Vulkan instance: physical devices and, on request, what the validation layer says.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/vulkan/vulkan_functions.h"

namespace tvmvm {

class VulkanInstance {
 public:
  // Errors: kNotFound without loader or driver; kUnsupported where `validation` is wanted and not installed.
  static Expected<std::shared_ptr<VulkanInstance>> Create(bool validation);
  ~VulkanInstance();
  VulkanInstance(const VulkanInstance&) = delete;
  VulkanInstance& operator=(const VulkanInstance&) = delete;

  const VulkanInstanceFunctions& functions() const { return functions_; }
  const std::vector<VkPhysicalDevice>& physical_devices() const { return physical_devices_; }
  bool validates() const { return messenger_ != VK_NULL_HANDLE; }
  // What the validation layer reported since the last call; "" for nothing. Thread-safe.
  std::string TakeReports();

 private:
  VulkanInstance() = default;
  Status CreateMessenger();
  static VkBool32 VKAPI_PTR Report(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                   VkDebugUtilsMessageTypeFlagsEXT types,
                                   const VkDebugUtilsMessengerCallbackDataEXT* data, void* instance);

  VkInstance instance_ = VK_NULL_HANDLE;
  VulkanInstanceFunctions functions_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::vector<VkPhysicalDevice> physical_devices_;
  std::mutex mutex_;
  std::string reports_;
};

}  // namespace tvmvm
