#include "devices/vulkan/vulkan_stream.h"

#include <chrono>

namespace tvmvm {
namespace {

constexpr std::chrono::microseconds kPolling{50};
constexpr uint64_t kSleepNanoseconds = 1'000'000;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Expected<std::unique_ptr<VulkanStream>> VulkanStream::Create(std::shared_ptr<VulkanContext> context,
                                                             VulkanMemories* memories) {
  std::unique_ptr<VulkanStream> stream(new VulkanStream(std::move(context), memories));
  VulkanContext& c = *stream->context_;
  VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = c.hardware().queue_family;
  TVMVM_CHECK_OK(
      c.Check(c.f().CreateCommandPool(c.device(), &info, nullptr, &stream->pool_), "vkCreateCommandPool"));
  return stream;
}

VulkanStream::~VulkanStream() {
  (void)Wait(nullptr);
  for (auto& batch : in_flight_) Destroy(batch.get());  // of a lost device
  for (auto& batch : spare_) Destroy(batch.get());
  if (open_) Destroy(open_.get());
  context_->f().DestroyCommandPool(context_->device(), pool_, nullptr);
}

void VulkanStream::Destroy(Batch* batch) {
  for (const Freed& freed : batch->freed) freed.memory->Free(freed.piece);
  memories_->upload.Free(batch->upload);
  context_->f().DestroyFence(context_->device(), batch->fence, nullptr);
}

Expected<std::unique_ptr<VulkanStream::Batch>> VulkanStream::NewBatch() {
  const VulkanDeviceFunctions& f = context_->f();
  auto batch = std::make_unique<Batch>();
  VkCommandBufferAllocateInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  commands.commandPool = pool_;
  commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  commands.commandBufferCount = 1;
  TVMVM_CHECK_OK(context_->Check(f.AllocateCommandBuffers(context_->device(), &commands, &batch->commands),
                                 "vkAllocateCommandBuffers"));
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  TVMVM_CHECK_OK(
      context_->Check(f.CreateFence(context_->device(), &fence, nullptr, &batch->fence), "vkCreateFence"));
  return batch;
}

Status VulkanStream::Open() {
  Reclaim();
  std::unique_ptr<Batch> batch;
  if (!spare_.empty()) {
    batch = std::move(spare_.back());
    spare_.pop_back();
  } else {
    TVMVM_TRY(batch, NewBatch());
  }
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  Status status =
      context_->Check(context_->f().BeginCommandBuffer(batch->commands, &begin), "vkBeginCommandBuffer");
  if (!status) {
    spare_.push_back(std::move(batch));
    return status;
  }
  open_ = std::move(batch);
  return {};
}

Expected<VkCommandBuffer> VulkanStream::Record() {
  TVMVM_CHECK_OK(context_->CheckHealth());
  if (open_ && open_->recorded >= batch_size_) {
    batch_size_ = std::min(batch_size_ * 2, kLargestBatch);
    TVMVM_CHECK_OK(Submit());
  }
  if (!open_) TVMVM_CHECK_OK(Open());
  ++open_->recorded;
  return open_->commands;
}

void VulkanStream::Barrier(VkCommandBuffer commands) const {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  constexpr VkPipelineStageFlags kStages =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  context_->f().CmdPipelineBarrier(commands, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

Expected<VulkanUpload> VulkanStream::Upload(int64_t bytes) {
  if (!open_) TVMVM_CHECK_OK(Open());
  const int64_t rounded = (bytes + 15) & ~int64_t{15};
  const VulkanMemory::Piece* piece = nullptr;
  int64_t offset = 0;
  if (rounded <= kUploadBytes / 4) {
    if (open_->upload != nullptr && open_->upload_used + rounded > kUploadBytes) {
      FreeLater(&memories_->upload, open_->upload);
      open_->upload = nullptr;
    }
    if (open_->upload == nullptr) {
      TVMVM_TRY(open_->upload, memories_->upload.Allocate(kUploadBytes));
      open_->upload_used = 0;
    }
    piece = open_->upload;
    offset = open_->upload_used;
    open_->upload_used += rounded;
  } else {
    TVMVM_TRY(piece, memories_->upload.Allocate(rounded));
    FreeLater(&memories_->upload, piece);
  }
  return VulkanUpload{VulkanMemory::HostOf(*piece) + offset, VulkanMemory::BlockOf(*piece).buffer,
                      static_cast<VkDeviceSize>(piece->offset + offset),
                      VulkanMemory::AddressOf(*piece) + static_cast<VkDeviceAddress>(offset)};
}

void VulkanStream::FreeLater(VulkanMemory* memory, const VulkanMemory::Piece* piece) {
  Batch* batch = open_ ? open_.get() : in_flight_.empty() ? nullptr : in_flight_.back().get();
  if (batch == nullptr) return memory->Free(piece);
  batch->freed.push_back({memory, piece});
}

// Host reads see what the batch wrote once its fence was waited for.
Status VulkanStream::Submit() {
  if (!open_) return {};
  const VulkanDeviceFunctions& f = context_->f();
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
  f.CmdPipelineBarrier(open_->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  TVMVM_CHECK_OK(context_->Check(f.EndCommandBuffer(open_->commands), "vkEndCommandBuffer"));
  TVMVM_CHECK_OK(context_->Submit(open_->commands, open_->fence));
  in_flight_.push_back(std::move(open_));
  return {};
}

// Takes back the batches that are done.
void VulkanStream::Reclaim() {
  size_t done = 0;
  while (done < in_flight_.size() &&
         context_->f().GetFenceStatus(context_->device(), in_flight_[done]->fence) == VK_SUCCESS)
    Recycle(std::move(in_flight_[done++]));
  in_flight_.erase(in_flight_.begin(), in_flight_.begin() + static_cast<ptrdiff_t>(done));
}

void VulkanStream::Recycle(std::unique_ptr<Batch> batch) {
  for (const Freed& freed : batch->freed) freed.memory->Free(freed.piece);
  batch->freed.clear();
  batch->recorded = 0;
  batch->upload_used = 0;
  const VulkanDeviceFunctions& f = context_->f();
  if (f.ResetFences(context_->device(), 1, &batch->fence) != VK_SUCCESS ||
      f.ResetCommandBuffer(batch->commands, 0) != VK_SUCCESS)
    return Destroy(batch.get());
  spare_.push_back(std::move(batch));
}

Status VulkanStream::WaitFor(VkFence fence, const CancelToken* cancel) {
  const VulkanDeviceFunctions& f = context_->f();
  const auto end = std::chrono::steady_clock::now() + kPolling;
  VkResult result = f.GetFenceStatus(context_->device(), fence);
  while (result == VK_NOT_READY && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 8; ++i) Pause();
    result = f.GetFenceStatus(context_->device(), fence);
  }
  while (result == VK_NOT_READY || result == VK_TIMEOUT) {
    if (cancel != nullptr && cancel->cancelled())
      return MakeError(Code::kCancelled, "stopped while waiting for " + context_->name());
    result = f.WaitForFences(context_->device(), 1, &fence, VK_TRUE, kSleepNanoseconds);
  }
  return context_->Check(result, "waiting for its work");
}

Status VulkanStream::Wait(const CancelToken* cancel) {
  TVMVM_CHECK_OK(Submit());
  batch_size_ = kFirstBatch;
  // Fences are signalled in the order of submission.
  if (!in_flight_.empty()) {
    TVMVM_CHECK_OK(WaitFor(in_flight_.back()->fence, cancel));
    for (auto& batch : in_flight_) Recycle(std::move(batch));
    in_flight_.clear();
  }
  return context_->CheckHealth();
}

}  // namespace tvmvm
