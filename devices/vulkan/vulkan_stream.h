// Work in batches, in order: collected, recorded or found recorded, submitted, waited for. Nothing here knows
// kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/vulkan/vulkan_memory.h"
#include "devices/vulkan/vulkan_operations.h"

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
  VulkanPlace place;
  VkDeviceAddress address = 0;
};

// Batches are used in the same order after each wait, and each keeps the command buffers that it was last
// recorded to. A call that does what an earlier one did (same kernels, addresses and numbers, which the same
// dims give) finds them and records nothing. Not thread-safe.
class VulkanStream {
 public:
  static Expected<std::unique_ptr<VulkanStream>> Create(std::shared_ptr<VulkanContext> context,
                                                        VulkanMemories* memories);
  ~VulkanStream();  // waits
  VulkanStream(const VulkanStream&) = delete;
  VulkanStream& operator=(const VulkanStream&) = delete;

  // Makes sure that there is an open batch with room for one operation more, which is added to operations();
  // submits the one before when it is full, and waits for the oldest where all are in flight. True: the batch
  // is new, and its operations wait for everything. Errors: kDeviceLost, kCancelled.
  Expected<bool> MakeRoom(const CancelToken* cancel);
  VulkanOperations& operations() { return operations_; }
  // Room for the host to write, aligned to 16 bytes; in the open batch, so after MakeRoom. Errors: as
  // VulkanMemory::Allocate.
  Expected<VulkanUpload> Upload(int64_t bytes, const CancelToken* cancel);
  // Freed when the work so far is done. `memory` says where the piece came from.
  void FreeLater(VulkanMemory* memory, const VulkanMemory::Piece* piece);

  Status Submit();
  // Submits, and comes back when everything is done; what was freed is still there. Errors as Wait.
  Status Await(const CancelToken* cancel);
  // True when nothing that was collected or submitted is unfinished.
  bool idle() const { return in_flight_.empty() && open_ == nullptr; }
  // Submits and waits for everything: looks without sleeping for a while, then sleeps, asking `cancel`.
  // Errors: kDeviceLost, kCancelled.
  Status Wait(const CancelToken* cancel);

  int64_t recorded() const { return recorded_; }  // command buffers so far, not counting those found recorded

 private:
  struct Freed {
    VulkanMemory* memory;
    const VulkanMemory::Piece* piece;
  };
  struct Recording {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::vector<uint64_t> words;  // empty: not recorded
    uint64_t used = 0;            // when last
  };
  struct Batch {
    VkFence fence = VK_NULL_HANDLE;
    const VulkanMemory::Piece* upload = nullptr;  // kept from use to use
    int64_t upload_used = 0;
    std::vector<Freed> freed;
    std::vector<Recording> recordings;
  };
  static constexpr int64_t kUploadBytes = 64 << 10;
  static constexpr uint32_t kFirstBatch = 8, kLargestBatch = 256;
  static constexpr size_t kMostBatches = 64, kMostRecordings = 4;

  VulkanStream(std::shared_ptr<VulkanContext> context, VulkanMemories* memories)
      : context_(std::move(context)), memories_(memories) {}
  Expected<std::unique_ptr<Batch>> NewBatch();
  Status Open(const CancelToken* cancel);
  Expected<VkCommandBuffer> CommandsFor(Batch* batch);
  Expected<Recording*> FreeRecording(Batch* batch);
  Status Reclaim();
  Status Recycle(size_t count);
  void Destroy(Batch* batch);
  Status WaitFor(VkFence fence, const CancelToken* cancel);

  const std::shared_ptr<VulkanContext> context_;
  VulkanMemories* const memories_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<std::unique_ptr<Batch>> batches_;  // used in turn
  size_t next_ = 0;                              // of them
  Batch* open_ = nullptr;                        // whose operations are being collected
  std::vector<Batch*> in_flight_;                // in order
  VulkanOperations operations_;                  // of the open batch
  uint32_t batch_size_ = kFirstBatch;            // grows while nobody waits
  uint64_t uses_ = 0;
  int64_t recorded_ = 0;
};

}  // namespace tvmvm
