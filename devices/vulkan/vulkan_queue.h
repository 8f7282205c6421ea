// The Queue of a Vulkan device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/driver/hazards.h"
#include "devices/driver/queue_counts.h"
#include "devices/driver/status_words.h"
#include "devices/vulkan/vulkan_kernels.h"
#include "devices/vulkan/vulkan_stream.h"
#include "tvm-vm/device.h"

namespace tvmvm {

class VulkanQueue final : public Queue {
 public:
  // `memories` and `counts` outlive the queue.
  static Expected<std::unique_ptr<VulkanQueue>> Create(std::shared_ptr<VulkanContext> context,
                                                       VulkanMemories* memories, QueueCounts* counts);
  ~VulkanQueue() override;

  Status CopyIn(const DeviceSpan& to, const void* from, int64_t bytes, const CancelToken* cancel) override;
  Status CopyOut(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken* cancel) override;
  Status Copy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes,
              const CancelToken* cancel) override;
  Status Fill(const DeviceSpan& to, uint8_t value, int64_t bytes, const CancelToken* cancel) override;
  Expected<int32_t> Launch(const LaunchRequest& request, const CancelToken* cancel) override;
  Status Flush() override;
  Expected<std::optional<KernelFailure>> Wait(const CancelToken* cancel) override;
  void FreeAfterWork(const DeviceMemory& memory) override;

 private:
  struct CopiedOut {
    void* to;
    int64_t bytes;
    const char* from;                  // where the device puts them
    const VulkanMemory::Piece* piece;  // to be freed; null: of readback_
  };
  // Bytes that the host reads where they are when the device is done, unless more work comes before.
  struct Read {
    void* to;
    int64_t bytes;
    DeviceSpan from;
  };
  static constexpr int64_t kReadbackBytes = 64 << 10;

  VulkanQueue(std::shared_ptr<VulkanContext> context, VulkanMemories* memories, QueueCounts* counts)
      : context_(std::move(context)), memories_(memories), counts_(counts) {}
  Status OpenBatch(const CancelToken* cancel);
  Status MakeRoom(const CancelToken* cancel);
  Status Drain(const CancelToken* cancel);
  Status CopyPiece(const DeviceSpan& to, const char* from, int64_t bytes, const CancelToken* cancel);
  Status CopyBack(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken* cancel);
  Status CopyReads(const CancelToken* cancel);
  void FreeHeld();
  Expected<VulkanPlace> Readback(void* to, int64_t bytes, const CancelToken* cancel);
  Expected<uint32_t> PutArguments(const VulkanKernel& kernel, const LaunchRequest& request, int64_t points,
                                  const CancelToken* cancel);

  const std::shared_ptr<VulkanContext> context_;
  VulkanMemories* const memories_;
  QueueCounts* const counts_;
  std::unique_ptr<VulkanStream> stream_;
  Hazards hazards_;  // within the open batch
  const VulkanMemory::Piece* status_ = nullptr;
  StatusWords status_words_;
  std::vector<uint64_t> arguments_;
  std::vector<CopiedOut> copies_out_;
  const VulkanMemory::Piece* readback_ = nullptr;  // for small copies to the host, from wait to wait
  int64_t readback_used_ = 0;
  std::vector<Read> reads_;
  std::vector<const VulkanMemory::Piece*> held_;  // to be freed behind reads_
};

}  // namespace tvmvm
