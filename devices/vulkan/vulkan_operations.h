// What a command buffer does, as plain words: collected cheaply, compared, and recorded only where no command
// buffer with the same words exists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "devices/driver/memory_range.h"
#include "devices/vulkan/vulkan_kernels.h"
#include "devices/vulkan/vulkan_memory.h"

namespace tvmvm {

// A place in one of the device's buffers.
struct VulkanPlace {
  const VulkanBlock* block = nullptr;
  VkDeviceSize offset = 0;
};

// Equal words are the same work with the same pipelines, buffers, addresses and numbers. Not thread-safe.
class VulkanOperations {
 public:
  // `barrier`: waits for everything before it. `pipeline` is one of the kernels'.
  void Dispatch(bool barrier, const VulkanKernelSet& kernels, VkPipeline pipeline, const GroupLayout& groups,
                std::span<const uint64_t> constants);
  void Copy(bool barrier, const VulkanPlace& from, const VulkanPlace& to, int64_t bytes);
  // Offset and bytes are multiples of four.
  void Fill(bool barrier, const VulkanPlace& to, int64_t bytes, uint32_t value);

  void Clear();
  uint32_t count() const { return count_; }
  const std::vector<uint64_t>& words() const { return words_; }
  // Writes them to a command buffer that was begun; what they name is still there. The first waits for all
  // work before it, and the host sees what they wrote when their fence was waited for.
  void Record(const VulkanDeviceFunctions& f, VkCommandBuffer commands) const;

 private:
  void Begin(uint64_t kind, bool barrier);

  std::vector<uint64_t> words_;
  uint32_t count_ = 0;
};

}  // namespace tvmvm
