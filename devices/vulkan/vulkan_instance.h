// The Vulkan instance: physical devices and, on request, what the validation layer says. A process has one,
// and one more where validation is asked for. They are made when first needed and never destroyed: drivers
// take memory for thread-local data that does not come back each time they are loaded, and the threads and
// exit handlers that they leave behind need them to the end.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/vulkan/vulkan_functions.h"

namespace tvmvm {

class VulkanInstance {
 public:
  // Thread-safe. An error is not remembered: the next call tries again. Errors: kNotFound without loader or
  // driver; kUnsupported where `validation` is wanted and not installed.
  static Expected<VulkanInstance*> Get(bool validation);
  ~VulkanInstance();  // of one that could not be completed
  VulkanInstance(const VulkanInstance&) = delete;
  VulkanInstance& operator=(const VulkanInstance&) = delete;

  const VulkanInstanceFunctions& functions() const { return functions_; }
  const std::vector<VkPhysicalDevice>& physical_devices() const { return physical_devices_; }
  bool validates() const { return messenger_ != VK_NULL_HANDLE; }
  // What the validation layer reported of any device since the last call; "" for nothing. Thread-safe.
  std::string TakeReports();

 private:
  VulkanInstance() = default;
  static Expected<std::unique_ptr<VulkanInstance>> Create(bool validation);
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
