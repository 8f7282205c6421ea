#include "devices/vulkan/vulkan_context.h"

namespace tvmvm {
namespace {

VkBool32 Flag(bool on) { return on ? VK_TRUE : VK_FALSE; }

// What kernels may use; features that cost speed, such as bounds checks of buffers, stay off.
void EnableFeatures(const VulkanHardware& hardware, VulkanFeatureChain* chain) {
  chain->core.features.shaderInt64 = VK_TRUE;
  chain->core.features.shaderFloat64 = Flag(hardware.has_f64);
  chain->core.features.shaderInt16 = Flag(hardware.has_i16);
  chain->address.bufferDeviceAddress = VK_TRUE;
  chain->scalar.scalarBlockLayout = VK_TRUE;
  chain->storage16.storageBuffer16BitAccess = Flag(hardware.has_storage16);
  chain->storage8.storageBuffer8BitAccess = Flag(hardware.has_storage8);
  chain->small.shaderFloat16 = Flag(hardware.has_f16);
  chain->small.shaderInt8 = Flag(hardware.has_i8);
  chain->memory_model.vulkanMemoryModel = Flag(hardware.has_memory_model);
  chain->memory_model.vulkanMemoryModelDeviceScope = Flag(hardware.has_memory_model);
  if (hardware.has_matrices) {
    chain->matrices.cooperativeMatrix = VK_TRUE;
    chain->matrices.pNext = chain->core.pNext;
    chain->core.pNext = &chain->matrices;
  }
  if (hardware.asks_for_subgroups) {
    chain->subgroup_size.subgroupSizeControl = VK_TRUE;
    chain->subgroup_size.computeFullSubgroups = VK_TRUE;
    chain->subgroup_size.pNext = chain->core.pNext;
    chain->core.pNext = &chain->subgroup_size;
  }
  // A device of 1.1 knows the structures of enabled extensions only.
  if (hardware.properties.apiVersion >= VK_API_VERSION_1_2) return;
  chain->storage16.pNext = nullptr;
  void** next = &chain->storage16.pNext;
  auto link = [&next](bool has, auto* structure) {
    if (!has) return;
    structure->pNext = nullptr;
    *next = structure;
    next = &structure->pNext;
  };
  link(hardware.has_storage8, &chain->storage8);
  link(hardware.has_f16 || hardware.has_i8, &chain->small);
  link(true, &chain->scalar);
  link(hardware.has_memory_model, &chain->memory_model);
}

}  // namespace

Expected<std::shared_ptr<VulkanContext>> VulkanContext::Create(VulkanInstance* instance,
                                                               const VulkanHardware& hardware,
                                                               std::string name) {
  if (!hardware.unusable.empty())
    return MakeError(Code::kUnsupported,
                     name + " (" + hardware.properties.deviceName + ") cannot be used: " + hardware.unusable);
  std::shared_ptr<VulkanContext> context(new VulkanContext);
  context->instance_ = instance;
  context->hardware_ = hardware;
  context->name_ = std::move(name);
  const VulkanInstanceFunctions& f = context->instance_->functions();

  VulkanFeatureChain chain;
  EnableFeatures(hardware, &chain);
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = hardware.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &chain.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(hardware.extensions.size());
  info.ppEnabledExtensionNames = hardware.extensions.data();
  if (VkResult result = f.CreateDevice(hardware.device, &info, nullptr, &context->device_);
      result != VK_SUCCESS)
    return tl::unexpected(VulkanError(result, context->name_ + ": vkCreateDevice"));
  Expected<VulkanDeviceFunctions> functions = VulkanDeviceFunctions::Load(f, context->device_);
  if (!functions) {
    auto destroy =
        reinterpret_cast<PFN_vkDestroyDevice>(f.GetDeviceProcAddr(context->device_, "vkDestroyDevice"));
    if (destroy != nullptr) destroy(context->device_, nullptr);
    return tl::unexpected(std::move(functions.error()));
  }
  context->functions_ = *functions;
  context->f().GetDeviceQueue(context->device_, hardware.queue_family, 0, &context->queue_);
  return context;
}

VulkanContext::~VulkanContext() {
  if (functions_.DestroyDevice == nullptr) return;
  functions_.DeviceWaitIdle(device_);
  functions_.DestroyDevice(device_, nullptr);
}

Status VulkanContext::Check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) [[likely]]
    return {};
  if (result == VK_ERROR_DEVICE_LOST) lost_.store(true);
  return tl::unexpected(VulkanError(result, name_ + ": " + what));
}

Status VulkanContext::CheckHealth() {
  if (lost_.load(std::memory_order_relaxed)) [[unlikely]]
    return MakeError(Code::kDeviceLost, name_ + ": the device is lost");
  if (!instance_->validates()) [[likely]]
    return {};
  std::string reports = instance_->TakeReports();
  if (reports.empty()) return {};
  return MakeError(Code::kInternal, name_ + ": " + reports);
}

void VulkanContext::WaitIdle() {
  std::lock_guard lock(queue_mutex_);
  functions_.DeviceWaitIdle(device_);
}

Status VulkanContext::Submit(VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  std::lock_guard lock(queue_mutex_);
  return Check(functions_.QueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit");
}

}  // namespace tvmvm
