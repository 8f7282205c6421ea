// The driver's own cache of compiled pipelines, kept on disk.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "devices/driver/cache_folder.h"
#include "devices/vulkan/vulkan_context.h"

namespace tvmvm {

// Of one program's modules on one device. Any number of threads may make pipelines with it.
class VulkanPipelineCache {
 public:
  // `library`: the modules. Reads what the folder holds of them; without a cache pipelines are made all the
  // same.
  VulkanPipelineCache(std::shared_ptr<VulkanContext> context, const CacheFolder& folder,
                      std::span<const std::byte> library);
  ~VulkanPipelineCache();
  VulkanPipelineCache(const VulkanPipelineCache&) = delete;
  VulkanPipelineCache& operator=(const VulkanPipelineCache&) = delete;

  VkPipelineCache get() const { return cache_; }
  bool was_stored() const { return stored_bytes_ > 0; }
  // Writes it to the folder where it grew. One thread at a time.
  void Save();

 private:
  const std::shared_ptr<VulkanContext> context_;
  const CacheFolder folder_;
  const std::string key_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  size_t stored_bytes_ = 0;
};

}  // namespace tvmvm
