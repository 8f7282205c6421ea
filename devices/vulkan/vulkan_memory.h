// Vulkan memory: large blocks, each one VkDeviceMemory with one VkBuffer over all of it, and pieces of them.
#pragma once

#include <memory>

#include "allocator/suballocator.h"
#include "devices/driver/deadline.h"
#include "devices/vulkan/vulkan_context.h"
#include "tvm-vm/device.h"

namespace tvmvm {

// What a Block's handle points to.
struct VulkanBlock {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceAddress address = 0;
  void* host = nullptr;  // mapped for good, or null
  uint64_t id = 0;       // no other block of this process has it
};

enum class VulkanMemoryUse {
  kDevice,    // what programs allocate: where kernels are fast, mapped where host and device share memory
  kUpload,    // written by the host, read by the device
  kReadback,  // written by the device, read by the host
};

// Thread-safe.
class VulkanMemory final : private BlockSource {
 public:
  VulkanMemory(std::shared_ptr<VulkanContext> context, VulkanMemoryUse use, int64_t max_bytes);
  ~VulkanMemory() override;

  using Piece = Suballocator::Piece;
  // `cancel` may be null. Errors: as Device::Allocate.
  Expected<const Piece*> Allocate(int64_t bytes, const CancelToken* cancel) {
    return pieces_.Allocate(bytes, DeadlineOf(cancel));
  }
  void Free(const Piece* piece) { pieces_.Free(piece); }
  void Trim() { pieces_.Trim(); }
  SuballocatorStatistics statistics() const { return pieces_.statistics(); }

  static const VulkanBlock& BlockOf(const Piece& piece) {
    return *reinterpret_cast<const VulkanBlock*>(piece.block.handle);
  }
  static VkDeviceAddress AddressOf(const Piece& piece) {
    return BlockOf(piece).address + static_cast<VkDeviceAddress>(piece.offset);
  }
  // Null where the host cannot reach it.
  static char* HostOf(const Piece& piece) {
    char* host = static_cast<char*>(BlockOf(piece).host);
    return host != nullptr ? host + piece.offset : nullptr;
  }

 private:
  Expected<Block> AllocateBlock(int64_t bytes) override;
  void FreeBlock(const Block& block) override;
  Status Create(int64_t bytes, VulkanBlock* block) const;
  void Destroy(VulkanBlock* block) const;

  const std::shared_ptr<VulkanContext> context_;
  const VulkanMemoryUse use_;
  Suballocator pieces_;
};

// The piece that a DeviceMemory of a Vulkan device stands for.
inline const VulkanMemory::Piece& PieceOf(const DeviceMemory& memory) {
  return *reinterpret_cast<const VulkanMemory::Piece*>(memory.handle);
}

}  // namespace tvmvm
