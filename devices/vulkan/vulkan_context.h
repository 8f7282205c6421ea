// The logical device: what memory, pipelines and queues share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "devices/vulkan/vulkan_features.h"
#include "devices/vulkan/vulkan_instance.h"

namespace tvmvm {

// Thread-safe.
class VulkanContext {
 public:
  // Errors: kUnsupported naming what the device lacks.
  static Expected<std::shared_ptr<VulkanContext>> Create(VulkanInstance* instance,
                                                         const VulkanHardware& hardware, std::string name);
  // Another one of the same hardware, which knows nothing of this one's loss. Errors: as Create.
  Expected<std::shared_ptr<VulkanContext>> Again() const { return Create(instance_, hardware_, name_); }
  ~VulkanContext();
  VulkanContext(const VulkanContext&) = delete;
  VulkanContext& operator=(const VulkanContext&) = delete;

  const VulkanDeviceFunctions& f() const { return functions_; }
  VkDevice device() const { return device_; }
  const VulkanHardware& hardware() const { return hardware_; }
  const std::string& name() const { return name_; }  // for messages

  // Errors: kDeviceLost.
  Status Submit(VkCommandBuffer commands, VkFence fence);
  // For everything that was submitted, whatever has become of it.
  void WaitIdle();
  // The result as a Status; a lost device is remembered.
  Status Check(VkResult result, const char* what);
  // kDeviceLost once it was; kInternal with what the validation layer reported since the last call.
  Status CheckHealth();

 private:
  VulkanContext() = default;

  VulkanInstance* instance_ = nullptr;  // the process's
  VulkanHardware hardware_;
  std::string name_;
  VkDevice device_ = VK_NULL_HANDLE;
  VulkanDeviceFunctions functions_;
  std::mutex queue_mutex_;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::atomic<bool> lost_{false};
};

}  // namespace tvmvm
