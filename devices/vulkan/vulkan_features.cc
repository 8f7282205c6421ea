#include "devices/vulkan/vulkan_features.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tvmvm {
namespace {

std::string VersionText(uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) +
         "." + std::to_string(VK_API_VERSION_PATCH(version));
}

std::vector<std::string> ExtensionsOf(const VulkanInstanceFunctions& f, VkPhysicalDevice device) {
  uint32_t count = 0;
  if (f.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<VkExtensionProperties> properties(count);
  f.EnumerateDeviceExtensionProperties(device, nullptr, &count, properties.data());
  std::vector<std::string> names;
  for (const VkExtensionProperties& property : properties) names.emplace_back(property.extensionName);
  return names;
}

// Takes an extension that became part of Vulkan 1.2; false where the device has neither.
bool Enable(VulkanHardware* hardware, const std::vector<std::string>& extensions, const char* name) {
  if (hardware->properties.apiVersion >= VK_API_VERSION_1_2) return true;
  if (std::find(extensions.begin(), extensions.end(), name) == extensions.end()) return false;
  hardware->extensions.push_back(name);
  return true;
}

void ReadProperties(const VulkanInstanceFunctions& f, VulkanHardware* hardware) {
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties maintenance{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceFloatControlsProperties floats{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  driver.pNext = &floats;
  hardware->subgroup = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  hardware->subgroup.pNext = &maintenance;
  if (hardware->properties.apiVersion >= VK_API_VERSION_1_2) maintenance.pNext = &driver;
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  properties.pNext = &hardware->subgroup;
  f.GetPhysicalDeviceProperties2(hardware->device, &properties);
  hardware->subgroup.pNext = nullptr;
  hardware->driver = std::string(driver.driverName) + " " + driver.driverInfo;
  if (driver.driverName[0] == 0) hardware->driver = std::to_string(hardware->properties.driverVersion);
  hardware->keeps_nan32 = floats.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE;
  hardware->keeps_nan64 = floats.shaderSignedZeroInfNanPreserveFloat64 != VK_FALSE;
  hardware->largest_allocation =
      static_cast<int64_t>(std::min<VkDeviceSize>(maintenance.maxMemoryAllocationSize, INT64_MAX));
  constexpr VkSubgroupFeatureFlags kWanted =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  hardware->has_subgroups = (hardware->subgroup.supportedOperations & kWanted) == kWanted &&
                            (hardware->subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

void ReadFeatures(const VulkanInstanceFunctions& f, VulkanHardware* hardware) {
  const std::vector<std::string> extensions = ExtensionsOf(f, hardware->device);
  VulkanFeatureChain chain;
  f.GetPhysicalDeviceFeatures2(hardware->device, &chain.core);
  hardware->has_f64 = chain.core.features.shaderFloat64 != VK_FALSE;
  hardware->has_i64 = chain.core.features.shaderInt64 != VK_FALSE;
  hardware->has_i16 = chain.core.features.shaderInt16 != VK_FALSE;
  hardware->has_storage16 = chain.storage16.storageBuffer16BitAccess != VK_FALSE;
  hardware->has_storage8 = chain.storage8.storageBuffer8BitAccess != VK_FALSE &&
                           Enable(hardware, extensions, VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  const bool has_small = (chain.small.shaderFloat16 != VK_FALSE || chain.small.shaderInt8 != VK_FALSE) &&
                         Enable(hardware, extensions, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  hardware->has_f16 = has_small && chain.small.shaderFloat16 != VK_FALSE;
  hardware->has_i8 = has_small && chain.small.shaderInt8 != VK_FALSE;
  hardware->has_memory_model = chain.memory_model.vulkanMemoryModel != VK_FALSE &&
                               chain.memory_model.vulkanMemoryModelDeviceScope != VK_FALSE &&
                               Enable(hardware, extensions, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME);
  const bool has_address = chain.address.bufferDeviceAddress != VK_FALSE &&
                           Enable(hardware, extensions, VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
  const bool has_scalar = chain.scalar.scalarBlockLayout != VK_FALSE &&
                          Enable(hardware, extensions, VK_EXT_SCALAR_BLOCK_LAYOUT_EXTENSION_NAME);
  if (!has_address) hardware->unusable = "it has no buffer device addresses";
  if (!has_scalar) hardware->unusable = "it has no scalar block layout";
  if (!hardware->has_i64) hardware->unusable = "it has no 64-bit integers";
}

constexpr const char* kMatrixExtension = "VK_KHR_cooperative_matrix";

// VkCooperativeMatrixPropertiesKHR
struct MatrixProperties {
  VkStructureType sType = static_cast<VkStructureType>(1000506001);
  void* pNext = nullptr;
  uint32_t rows = 0, columns = 0, depth = 0;
  int32_t left = 0, right = 0, sum = 0, result = 0;  // VkComponentTypeKHR
  VkBool32 saturating = VK_FALSE;
  int32_t scope = 0;  // VkScopeKHR
};
using GetMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, MatrixProperties*);

bool MultipliesHalves(const VulkanInstanceFunctions& f, VkPhysicalDevice device) {
  constexpr int32_t kFloat16 = 0, kFloat32 = 1, kSubgroup = 3;
  const auto get = reinterpret_cast<GetMatrixProperties>(f.GetPhysicalDeviceCooperativeMatrixPropertiesKHR);
  uint32_t count = 0;
  if (get == nullptr || get(device, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<MatrixProperties> all(count);
  if (get(device, &count, all.data()) < VK_SUCCESS) return false;
  return std::any_of(all.begin(), all.end(), [](const MatrixProperties& m) {
    return m.rows == 16 && m.columns == 16 && m.depth == 16 && m.left == kFloat16 && m.right == kFloat16 &&
           m.sum == kFloat32 && m.result == kFloat32 && m.scope == kSubgroup;
  });
}

// Whether kernels can ask for subgroups of the size that matrices want, all of them full.
bool OffersMatrixSubgroups(const VulkanInstanceFunctions& f, VkPhysicalDevice device) {
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT features{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
  VkPhysicalDeviceFeatures2 chain{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  chain.pNext = &features;
  f.GetPhysicalDeviceFeatures2(device, &chain);
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  properties.pNext = &sizes;
  f.GetPhysicalDeviceProperties2(device, &properties);
  return features.subgroupSizeControl != VK_FALSE && features.computeFullSubgroups != VK_FALSE &&
         sizes.minSubgroupSize <= kMatrixSubgroup && sizes.maxSubgroupSize >= kMatrixSubgroup &&
         (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

void ReadMatrices(const VulkanInstanceFunctions& f, VulkanHardware* hardware) {
  constexpr uint32_t kSharedBytes = 48 << 10;
  const std::vector<std::string> extensions = ExtensionsOf(f, hardware->device);
  auto has = [&](const char* name) {
    return std::find(extensions.begin(), extensions.end(), name) != extensions.end();
  };
  if (!has(kMatrixExtension)) return;
  const bool asks =
      has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME) && OffersMatrixSubgroups(f, hardware->device);
  VulkanMatrixFeatures features;
  VkPhysicalDeviceFeatures2 chain{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  chain.pNext = &features;
  f.GetPhysicalDeviceFeatures2(hardware->device, &chain);
  hardware->has_matrices = features.cooperativeMatrix != VK_FALSE && hardware->has_f16 &&
                           hardware->has_memory_model &&
                           (asks || hardware->subgroup.subgroupSize == kMatrixSubgroup) &&
                           hardware->properties.limits.maxComputeSharedMemorySize >= kSharedBytes &&
                           MultipliesHalves(f, hardware->device);
  hardware->asks_for_subgroups = hardware->has_matrices && asks;
  if (hardware->has_matrices) hardware->extensions.push_back(kMatrixExtension);
  if (hardware->asks_for_subgroups)
    hardware->extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
}

int FindComputeFamily(const VulkanInstanceFunctions& f, VkPhysicalDevice device) {
  uint32_t count = 0;
  f.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  f.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i)
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return static_cast<int>(i);
  return -1;
}

// Host and device use one memory: a type for both, in the largest heap.
bool SharesMemory(const VulkanHardware& hardware) {
  const VkPhysicalDeviceType type = hardware.properties.deviceType;
  if (type != VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU && type != VK_PHYSICAL_DEVICE_TYPE_CPU) return false;
  const int found = FindMemoryType(hardware.memory,
                                   VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                       VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                   VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  if (found < 0) return false;
  const VkMemoryType& chosen = hardware.memory.memoryTypes[found];
  return static_cast<int64_t>(hardware.memory.memoryHeaps[chosen.heapIndex].size) ==
             hardware.memory_bytes() &&
         (chosen.propertyFlags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
}

}  // namespace

VulkanFeatureChain::VulkanFeatureChain() {
  core.pNext = &address;
  address.pNext = &storage16;
  storage16.pNext = &storage8;
  storage8.pNext = &small;
  small.pNext = &scalar;
  scalar.pNext = &memory_model;
}

int64_t VulkanHardware::memory_bytes() const {
  VkDeviceSize most = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      most = std::max(most, memory.memoryHeaps[i].size);
  return static_cast<int64_t>(most);
}

int FindMemoryType(const VkPhysicalDeviceMemoryProperties& memory, VkMemoryPropertyFlags wanted,
                   VkMemoryPropertyFlags preferred) {
  int best = -1, best_score = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((flags & wanted) != wanted || (flags & VK_MEMORY_PROPERTY_PROTECTED_BIT) != 0) continue;
    if (int score = std::popcount(flags & preferred); score > best_score) {
      best = static_cast<int>(i);
      best_score = score;
    }
  }
  return best;
}

VulkanHardware ReadHardware(const VulkanInstanceFunctions& f, VkPhysicalDevice device) {
  VulkanHardware hardware;
  hardware.device = device;
  f.GetPhysicalDeviceProperties(device, &hardware.properties);
  if (hardware.properties.apiVersion < VK_API_VERSION_1_1) {
    hardware.unusable = "it has Vulkan " + VersionText(hardware.properties.apiVersion) + ", 1.1 is needed";
    return hardware;
  }
  f.GetPhysicalDeviceMemoryProperties(device, &hardware.memory);
  ReadProperties(f, &hardware);
  ReadFeatures(f, &hardware);
  ReadMatrices(f, &hardware);
  const int family = FindComputeFamily(f, device);
  if (family < 0) hardware.unusable = "it has no queue for compute";
  hardware.queue_family = static_cast<uint32_t>(std::max(family, 0));
  hardware.shares_memory = SharesMemory(hardware);
  return hardware;
}

namespace {

DeviceType TypeOf(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceType::kDiscreteGpu;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceType::kIntegratedGpu;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceType::kVirtualGpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceType::kCpu;
    default:
      return DeviceType::kOther;
  }
}

}  // namespace

DeviceDescription Describe(const VulkanHardware& hardware) {
  DeviceDescription description;
  description.hardware = hardware.properties.deviceName;
  description.driver = hardware.driver;
  description.api = "Vulkan " + VersionText(hardware.properties.apiVersion);
  description.memory_bytes = hardware.memory_bytes();
  description.type = TypeOf(hardware.properties.deviceType);
  const std::pair<bool, const char*> features[] = {
      {hardware.has_f16, "f16"},
      {hardware.has_f64, "f64"},
      {hardware.has_i8, "i8"},
      {hardware.has_i16, "i16"},
      {hardware.has_storage16, "16-bit storage"},
      {hardware.has_storage8, "8-bit storage"},
      {hardware.has_subgroups, "subgroups"},
      {hardware.has_matrices, "matrices"},
      {hardware.shares_memory, "memory shared with the host"},
  };
  for (const auto& [has, name] : features)
    if (has) description.features.emplace_back(name);
  return description;
}

TargetInfo TargetOf(const VulkanHardware& hardware) {
  const VkPhysicalDeviceLimits& limits = hardware.properties.limits;
  TargetInfo target;
  target.device = DeviceKind::kVulkan;
  target.vector_bits = 128;
  target.has_f16 = hardware.has_f16;
  target.has_f64 = hardware.has_f64;
  target.has_i64 = hardware.has_i64;
  target.has_f16_storage = hardware.has_storage16;
  target.has_i8_storage = hardware.has_storage8;
  target.has_subgroups = hardware.has_subgroups;
  target.has_matrices = hardware.has_matrices;
  target.subgroup_size = static_cast<int>(hardware.subgroup.subgroupSize);
  target.shared_memory_bytes = limits.maxComputeSharedMemorySize;
  target.max_group_size = static_cast<int>(limits.maxComputeWorkGroupInvocations);
  target.shares_memory = hardware.shares_memory;
  target.max_block_bytes = hardware.largest_allocation;
  return target;
}

}  // namespace tvmvm
