#include "devices/vulkan/vulkan_pipeline_cache.h"

#include <cstring>
#include <optional>
#include <vector>

#include "bytecode/digest.h"

namespace tvmvm {
namespace {

// What the driver's cache depends on: device, driver, the modules.
std::string CacheKey(const VulkanHardware& hardware, std::span<const std::byte> library) {
  const VkPhysicalDeviceProperties& properties = hardware.properties;
  std::string key = "vulkan pipelines 2\n" + std::string(properties.deviceName) + "\n" + hardware.driver;
  for (uint32_t number : {properties.vendorID, properties.deviceID, properties.driverVersion})
    key += "\n" + std::to_string(number);
  Digest uuid;
  static_assert(sizeof uuid.bytes == VK_UUID_SIZE);
  std::memcpy(uuid.bytes.data(), properties.pipelineCacheUUID, VK_UUID_SIZE);
  return key + "\n" + uuid.Hex() + "\n" + DigestOf(library).Hex();
}

}  // namespace

VulkanPipelineCache::VulkanPipelineCache(std::shared_ptr<VulkanContext> context, const CacheFolder& folder,
                                         std::span<const std::byte> library)
    : context_(std::move(context)), folder_(folder), key_(CacheKey(context_->hardware(), library)) {
  const std::optional<std::vector<std::byte>> stored = folder_.Load(key_);
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  if (stored) {
    info.initialDataSize = stored->size();
    info.pInitialData = stored->data();
    stored_bytes_ = stored->size();
  }
  if (context_->f().CreatePipelineCache(context_->device(), &info, nullptr, &cache_) != VK_SUCCESS) {
    cache_ = VK_NULL_HANDLE;
    stored_bytes_ = 0;
  }
}

VulkanPipelineCache::~VulkanPipelineCache() {
  context_->f().DestroyPipelineCache(context_->device(), cache_, nullptr);
}

void VulkanPipelineCache::Save() {
  const VulkanDeviceFunctions& f = context_->f();
  size_t size = 0;
  if (cache_ == VK_NULL_HANDLE ||
      f.GetPipelineCacheData(context_->device(), cache_, &size, nullptr) != VK_SUCCESS ||
      size <= stored_bytes_)
    return;
  std::vector<std::byte> data(size);
  if (f.GetPipelineCacheData(context_->device(), cache_, &size, data.data()) != VK_SUCCESS) return;
  folder_.Store(key_, std::span(data).first(size));
  stored_bytes_ = size;
}

}  // namespace tvmvm
