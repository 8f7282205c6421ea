// What a physical device can do: read once, checked against what every device must have, and enabled as it
// is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "devices/vulkan/vulkan_functions.h"
#include "tvm-vm/device.h"
#include "tvm-vm/target_info.h"

namespace tvmvm {

// Of VK_KHR_cooperative_matrix, which headers before 1.3.255 do not have.
struct VulkanMatrixFeatures {
  VkStructureType sType = static_cast<VkStructureType>(1000506000);
  void* pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE;
  VkBool32 cooperativeMatrixRobustBufferAccess = VK_FALSE;
};

// The chain of feature structures, for vkGetPhysicalDeviceFeatures2 and vkCreateDevice alike.
struct VulkanFeatureChain {
  VulkanFeatureChain();
  VulkanFeatureChain(const VulkanFeatureChain&) = delete;  // the structures point to one another
  VulkanFeatureChain& operator=(const VulkanFeatureChain&) = delete;

  VkPhysicalDeviceFeatures2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceBufferDeviceAddressFeatures address{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
  VkPhysicalDevice16BitStorageFeatures storage16{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDevice8BitStorageFeatures storage8{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  VkPhysicalDeviceShaderFloat16Int8Features small{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  VkPhysicalDeviceScalarBlockLayoutFeatures scalar{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES};
  VkPhysicalDeviceVulkanMemoryModelFeatures memory_model{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
  // Linked where the device has the extension.
  VulkanMatrixFeatures matrices;
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroup_size{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
};

struct VulkanHardware {
  VkPhysicalDevice device = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceSubgroupProperties subgroup{};
  std::string driver;  // name and version
  int64_t largest_allocation = 0;
  VkPhysicalDeviceMemoryProperties memory{};
  uint32_t queue_family = 0;
  std::vector<const char*> extensions;  // to be enabled
  std::string unusable;                 // "" or what is missing

  bool has_f16 = false, has_i8 = false, has_i16 = false, has_f64 = false, has_i64 = false;
  bool has_storage16 = false, has_storage8 = false, has_subgroups = false;
  bool has_memory_model = false;
  bool keeps_nan32 = false, keeps_nan64 = false;  // where a module asks for it
  // 16 x 16 x 16, f16 summed in f32, by subgroups of 32, and 48 KB of shared memory
  bool has_matrices = false;
  bool asks_for_subgroups = false;  // kernels with matrices name the size of subgroups; else it is always 32
  bool shares_memory = false;

  int64_t memory_bytes() const;  // of the largest heap of its own
};

// Of the subgroups that hold a matrix together.
inline constexpr uint32_t kMatrixSubgroup = 32;

VulkanHardware ReadHardware(const VulkanInstanceFunctions& f, VkPhysicalDevice device);
DeviceDescription Describe(const VulkanHardware& hardware);
TargetInfo TargetOf(const VulkanHardware& hardware);
// The memory type with all of `wanted`, preferably all of `preferred`; -1: none.
int FindMemoryType(const VkPhysicalDeviceMemoryProperties& memory, VkMemoryPropertyFlags wanted,
                   VkMemoryPropertyFlags preferred);

}  // namespace tvmvm
