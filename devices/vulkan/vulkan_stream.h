// Command buffers in order: recorded, submitted in batches, waited for, recycled. Nothing here knows kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/vulkan/vulkan_memory.h"

namespace tvmvm {

// Memory of a device that streams share.
struct VulkanMemories {
  VulkanMemories(const std::shared_ptr<VulkanContext>& context, int64_t max_bytes)
      : device(context, VulkanMemoryUse::kDevice, max_bytes),
        upload(context, VulkanMemoryUse::kUpload, 0),
        readback(context, VulkanMemoryUse::kReadback, 0) {}
  VulkanMemory device, upload, readback;
};

// Host memory that the device reads: valid until the work recorded after it is done.
struct VulkanUpload {
  char* host = nullptr;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  VkDeviceAddress address = 0;
};

// Not thread-safe.
class VulkanStream {
 public:
  static Expected<std::unique_ptr<VulkanStream>> Create(std::shared_ptr<VulkanContext> context,
                                                        VulkanMemories* memories);
  ~VulkanStream();  // waits
  VulkanStream(const VulkanStream&) = delete;
  VulkanStream& operator=(const VulkanStream&) = delete;

  // The command buffer that is being recorded. Submits the one before when it is full.
  Expected<VkCommandBuffer> Record();
  // Everything recorded from here on waits for everything before it.
  void Barrier(VkCommandBuffer commands) const;
  // Room for the host to write, aligned to 16 bytes.
  Expected<VulkanUpload> Upload(int64_t bytes);
  // Freed when the work recorded so far is done. `memory` says where the piece came from.
  void FreeLater(VulkanMemory* memory, const VulkanMemory::Piece* piece);

  Status Submit();
  // True when nothing that was recorded or submitted is unfinished.
  bool idle() const { return in_flight_.empty() && open_ == nullptr; }
  // Submits and waits for everything: looks without sleeping for a while, then sleeps, asking `cancel`.
  // Errors: kDeviceLost, kCancelled.
  Status Wait(const CancelToken* cancel);

 private:
  struct Freed {
    VulkanMemory* memory;
    const VulkanMemory::Piece* piece;
  };
  struct Batch {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    uint32_t recorded = 0;
    const VulkanMemory::Piece* upload = nullptr;  // kept from batch to batch
    int64_t upload_used = 0;
    std::vector<Freed> freed;
  };
  static constexpr int64_t kUploadBytes = 64 << 10;
  static constexpr uint32_t kFirstBatch = 8, kLargestBatch = 256;

  VulkanStream(std::shared_ptr<VulkanContext> context, VulkanMemories* memories)
      : context_(std::move(context)), memories_(memories) {}
  Expected<std::unique_ptr<Batch>> NewBatch();
  Status Open();
  void Reclaim();
  void Recycle(std::unique_ptr<Batch> batch);
  void Destroy(Batch* batch);
  Status WaitFor(VkFence fence, const CancelToken* cancel);

  const std::shared_ptr<VulkanContext> context_;
  VulkanMemories* const memories_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::unique_ptr<Batch> open_;                    // being recorded, or null
  std::vector<std::unique_ptr<Batch>> in_flight_;  // in order
  std::vector<std::unique_ptr<Batch>> spare_;
  uint32_t batch_size_ = kFirstBatch;  // grows while nobody waits
};

}  // namespace tvmvm
