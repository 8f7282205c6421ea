#include "devices/vulkan/vulkan_stream.h"

#include <algorithm>
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
  stream->in_flight_.reserve(kMostBatches);  // so that what is submitted is always in it
  VulkanContext& c = *stream->context_;
  VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = c.hardware().queue_family;
  TVMVM_CHECK_OK(
      c.Check(c.f().CreateCommandPool(c.device(), &info, nullptr, &stream->pool_), "vkCreateCommandPool"));
  return stream;
}

VulkanStream::~VulkanStream() {
  // What was collected and not submitted is nobody's any more. Fences tell nothing of a device that fails.
  open_ = nullptr;
  if (!in_flight_.empty() && !WaitFor(in_flight_.back()->fence, nullptr)) context_->WaitIdle();
  for (auto& batch : batches_) Destroy(batch.get());
  context_->f().DestroyCommandPool(context_->device(), pool_, nullptr);
}

void VulkanStream::Destroy(Batch* batch) {
  for (const Freed& freed : batch->freed) freed.memory->Free(freed.piece);
  memories_->upload.Free(batch->upload);
  context_->f().DestroyFence(context_->device(), batch->fence, nullptr);
}

Expected<std::unique_ptr<VulkanStream::Batch>> VulkanStream::NewBatch() {
  auto batch = std::make_unique<Batch>();
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  TVMVM_CHECK_OK(context_->Check(
      context_->f().CreateFence(context_->device(), &fence, nullptr, &batch->fence), "vkCreateFence"));
  return batch;
}

Status VulkanStream::Open(const CancelToken* cancel) {
  TVMVM_CHECK_OK(Reclaim());
  if (next_ == kMostBatches) next_ = 0;
  if (next_ == batches_.size()) {
    TVMVM_TRY(std::unique_ptr<Batch> batch, NewBatch());
    batches_.push_back(std::move(batch));
  }
  Batch* batch = batches_[next_].get();
  // All batches are in flight: this one is the oldest.
  if (!in_flight_.empty() && in_flight_.front() == batch) {
    TVMVM_CHECK_OK(WaitFor(batch->fence, cancel));
    TVMVM_CHECK_OK(Recycle(1));
  }
  ++next_;
  open_ = batch;
  return {};
}

Expected<bool> VulkanStream::MakeRoom(const CancelToken* cancel) {
  TVMVM_CHECK_OK(context_->CheckHealth());
  if (open_ != nullptr && operations_.count() >= batch_size_) {
    batch_size_ = std::min(batch_size_ * 2, kLargestBatch);
    TVMVM_CHECK_OK(Submit());
  }
  if (open_ != nullptr) return false;
  TVMVM_CHECK_OK(Open(cancel));
  return true;
}

Expected<VulkanUpload> VulkanStream::Upload(int64_t bytes, const CancelToken* cancel) {
  const int64_t rounded = (bytes + 15) & ~int64_t{15};
  const VulkanMemory::Piece* piece = nullptr;
  int64_t offset = 0;
  if (rounded <= kUploadBytes / 4) {
    if (open_->upload != nullptr && open_->upload_used + rounded > kUploadBytes) {
      FreeLater(&memories_->upload, open_->upload);
      open_->upload = nullptr;
    }
    if (open_->upload == nullptr) {
      TVMVM_TRY(open_->upload, memories_->upload.Allocate(kUploadBytes, cancel));
      open_->upload_used = 0;
    }
    piece = open_->upload;
    offset = open_->upload_used;
    open_->upload_used += rounded;
  } else {
    FreeLater(&memories_->upload, nullptr);  // first, as it may throw
    TVMVM_TRY(piece, memories_->upload.Allocate(rounded, cancel));
    open_->freed.back().piece = piece;
  }
  return VulkanUpload{VulkanMemory::HostOf(*piece) + offset,
                      {&VulkanMemory::BlockOf(*piece), static_cast<VkDeviceSize>(piece->offset + offset)},
                      VulkanMemory::AddressOf(*piece) + static_cast<VkDeviceAddress>(offset)};
}

void VulkanStream::FreeLater(VulkanMemory* memory, const VulkanMemory::Piece* piece) {
  Batch* batch = open_ != nullptr ? open_ : in_flight_.empty() ? nullptr : in_flight_.back();
  if (batch == nullptr) return memory->Free(piece);
  batch->freed.push_back({memory, piece});
}

// One that was not recorded, or the one that was used least recently.
Expected<VulkanStream::Recording*> VulkanStream::FreeRecording(Batch* batch) {
  const VulkanDeviceFunctions& f = context_->f();
  if (batch->recordings.size() < kMostRecordings) {
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    Recording recording;
    TVMVM_CHECK_OK(context_->Check(f.AllocateCommandBuffers(context_->device(), &info, &recording.commands),
                                   "vkAllocateCommandBuffers"));
    return &batch->recordings.emplace_back(std::move(recording));
  }
  Recording* oldest =
      &*std::min_element(batch->recordings.begin(), batch->recordings.end(),
                         [](const Recording& a, const Recording& b) { return a.used < b.used; });
  oldest->words.clear();
  TVMVM_CHECK_OK(context_->Check(f.ResetCommandBuffer(oldest->commands, 0), "vkResetCommandBuffer"));
  return oldest;
}

// A command buffer with the operations: one that the batch has, else newly recorded.
Expected<VkCommandBuffer> VulkanStream::CommandsFor(Batch* batch) {
  ++uses_;
  for (Recording& recording : batch->recordings) {
    if (recording.words.empty() || recording.words != operations_.words()) continue;
    recording.used = uses_;
    return recording.commands;
  }
  TVMVM_TRY(Recording * recording, FreeRecording(batch));
  const VulkanDeviceFunctions& f = context_->f();
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  TVMVM_CHECK_OK(context_->Check(f.BeginCommandBuffer(recording->commands, &begin), "vkBeginCommandBuffer"));
  operations_.Record(f, recording->commands);
  TVMVM_CHECK_OK(context_->Check(f.EndCommandBuffer(recording->commands), "vkEndCommandBuffer"));
  recording->words = operations_.words();
  recording->used = uses_;
  ++recorded_;
  return recording->commands;
}

Status VulkanStream::Submit() {
  if (open_ == nullptr) return {};
  TVMVM_TRY(VkCommandBuffer commands, CommandsFor(open_));
  TVMVM_CHECK_OK(context_->Submit(commands, open_->fence));
  in_flight_.push_back(open_);
  open_ = nullptr;
  operations_.Clear();
  return {};
}

// Takes back the batches that are done.
Status VulkanStream::Reclaim() {
  size_t done = 0;
  VkResult result = VK_SUCCESS;
  for (; done < in_flight_.size(); ++done) {
    result = context_->f().GetFenceStatus(context_->device(), in_flight_[done]->fence);
    if (result != VK_SUCCESS) break;
  }
  if (result != VK_NOT_READY) TVMVM_CHECK_OK(context_->Check(result, "vkGetFenceStatus"));
  return Recycle(done);
}

// The work of the first `count` batches in flight is done. One whose fence cannot be reset stays in flight:
// submitted with it, work would count as done at once.
Status VulkanStream::Recycle(size_t count) {
  Status status;
  size_t done = 0;
  for (; done < count; ++done) {
    Batch& batch = *in_flight_[done];
    for (const Freed& freed : batch.freed) freed.memory->Free(freed.piece);
    batch.freed.clear();
    batch.upload_used = 0;
    status = context_->Check(context_->f().ResetFences(context_->device(), 1, &batch.fence), "vkResetFences");
    if (!status) break;
  }
  in_flight_.erase(in_flight_.begin(), in_flight_.begin() + static_cast<ptrdiff_t>(done));
  return status;
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

Status VulkanStream::Await(const CancelToken* cancel) {
  TVMVM_CHECK_OK(Submit());
  // Fences are signalled in the order of submission.
  return in_flight_.empty() ? Status() : WaitFor(in_flight_.back()->fence, cancel);
}

Status VulkanStream::Wait(const CancelToken* cancel) {
  TVMVM_CHECK_OK(Await(cancel));
  TVMVM_CHECK_OK(Recycle(in_flight_.size()));
  batch_size_ = kFirstBatch;
  next_ = 0;
  return context_->CheckHealth();
}

}  // namespace tvmvm
