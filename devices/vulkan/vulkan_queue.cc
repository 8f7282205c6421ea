#include "devices/vulkan/vulkan_queue.h"

#include <algorithm>
#include <cstring>

#include "devices/driver/memory_range.h"

namespace tvmvm {
namespace {

constexpr int64_t kPieceBytes = 4 << 20;    // of a long copy from the host, each on its way as it is ready
constexpr int kPiecesAhead = 16;            // of them that may wait for the device
constexpr int64_t kMostWritten = 16 << 10;  // that the host writes into the device's memory by itself
constexpr int64_t kMostRead = 64;           // and reads there: each read crosses the bus and back

VulkanPlace PlaceOf(const DeviceSpan& span) {
  const VulkanMemory::Piece& piece = PieceOf(span.memory);
  return {&VulkanMemory::BlockOf(piece), static_cast<VkDeviceSize>(piece.offset + span.offset)};
}

uint64_t AddressOf(const DeviceSpan& span) {
  if (span.memory.handle == 0) return 0;  // memory of nothing
  return VulkanMemory::AddressOf(PieceOf(span.memory)) + static_cast<uint64_t>(span.offset);
}

// What a launch may touch there.
uint64_t ExtentOf(const DeviceSpan& span) {
  return static_cast<uint64_t>(std::min(span.bytes, span.memory.bytes - span.offset));
}

DeviceSpan Behind(const DeviceSpan& span, int64_t bytes) { return {span.memory, span.offset + bytes}; }

// Where the host reaches a span; null where it cannot, or not well for more than `most` bytes.
char* WithinReach(const DeviceSpan& span, int64_t bytes, int64_t most) {
  if (span.memory.handle == 0 || (span.memory.host == nullptr && bytes > most)) return nullptr;
  char* host = VulkanMemory::HostOf(PieceOf(span.memory));
  return host != nullptr ? host + span.offset : nullptr;
}

}  // namespace

Expected<std::unique_ptr<VulkanQueue>> VulkanQueue::Create(std::shared_ptr<VulkanContext> context,
                                                           VulkanMemories* memories, QueueCounts* counts) {
  std::unique_ptr<VulkanQueue> queue(new VulkanQueue(context, memories, counts));
  TVMVM_TRY(queue->stream_, VulkanStream::Create(std::move(context), memories));
  TVMVM_TRY(queue->status_, memories->readback.Allocate(StatusWords::kBytes, nullptr));
  std::memset(VulkanMemory::HostOf(*queue->status_), 0, StatusWords::kBytes);
  TVMVM_TRY(queue->readback_, memories->readback.Allocate(kReadbackBytes, nullptr));
  return queue;
}

VulkanQueue::~VulkanQueue() {
  stream_.reset();  // waits
  for (const VulkanMemory::Piece* piece : held_) memories_->device.Free(piece);
  for (const CopiedOut& copy : copies_out_) memories_->readback.Free(copy.piece);
  memories_->readback.Free(readback_);
  memories_->readback.Free(status_);
}

Status VulkanQueue::CopyIn(const DeviceSpan& to, const void* from, int64_t bytes, const CancelToken* cancel) {
  TVMVM_CHECK_OK(CheckRange(to, bytes));
  TVMVM_CHECK_OK(context_->CheckHealth());
  auto* source = static_cast<const char*>(from);
  if (char* host = WithinReach(to, bytes, kMostWritten); host != nullptr && stream_->idle()) {
    std::memcpy(host, source, static_cast<size_t>(bytes));
    return {};
  }
  int ahead = 0;
  for (int64_t done = 0; done < bytes;) {
    const int64_t piece = std::min(kPieceBytes, bytes - done);
    TVMVM_CHECK_OK(CopyPiece(Behind(to, done), source + done, piece, cancel));
    done += piece;
    if (done == bytes) break;
    TVMVM_CHECK_OK(stream_->Submit());
    if (++ahead == kPiecesAhead) {
      QueueCounts::Add(&counts_->waits);
      TVMVM_CHECK_OK(stream_->Wait(cancel));
      ahead = 0;
    }
  }
  return {};
}

// The first operations of a batch wait for everything before it.
Status VulkanQueue::OpenBatch(const CancelToken* cancel) {
  TVMVM_TRY(const bool is_new, stream_->MakeRoom(cancel));
  if (is_new) hazards_.Clear();
  return {};
}

// For work that may overwrite what the host was to read.
Status VulkanQueue::MakeRoom(const CancelToken* cancel) {
  if (!reads_.empty()) TVMVM_CHECK_OK(CopyReads(cancel));
  return OpenBatch(cancel);
}

Status VulkanQueue::CopyPiece(const DeviceSpan& to, const char* from, int64_t bytes,
                              const CancelToken* cancel) {
  TVMVM_CHECK_OK(MakeRoom(cancel));
  TVMVM_TRY(const VulkanUpload upload, stream_->Upload(bytes, cancel));
  std::memcpy(upload.host, from, static_cast<size_t>(bytes));
  hazards_.Writes(AddressOf(to), static_cast<uint64_t>(bytes));
  stream_->operations().Copy(hazards_.MustWait(), upload.place, PlaceOf(to), bytes);
  return {};
}

// Where the device puts bytes that arrive at `to` with the next wait.
Expected<VulkanPlace> VulkanQueue::Readback(void* to, int64_t bytes, const CancelToken* cancel) {
  const int64_t rounded = (bytes + 15) & ~int64_t{15};
  const bool is_small = rounded <= kReadbackBytes - readback_used_;
  const VulkanMemory::Piece* piece = readback_;
  int64_t offset = 0;
  // Room first: what throws may not lose the piece.
  if (copies_out_.size() == copies_out_.capacity()) copies_out_.reserve(2 * copies_out_.size() + 1);
  if (is_small) {
    offset = std::exchange(readback_used_, readback_used_ + rounded);
  } else {
    TVMVM_TRY(piece, memories_->readback.Allocate(bytes, cancel));
  }
  copies_out_.push_back({to, bytes, VulkanMemory::HostOf(*piece) + offset, is_small ? nullptr : piece});
  return VulkanPlace{&VulkanMemory::BlockOf(*piece), static_cast<VkDeviceSize>(piece->offset + offset)};
}

Status VulkanQueue::CopyOut(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken* cancel) {
  TVMVM_CHECK_OK(CheckRange(from, bytes));
  TVMVM_CHECK_OK(context_->CheckHealth());
  if (bytes == 0) return {};
  const char* host = WithinReach(from, bytes, kMostRead);
  if (host == nullptr) return CopyBack(to, from, bytes, cancel);
  if (stream_->idle())
    std::memcpy(to, host, static_cast<size_t>(bytes));
  else
    reads_.push_back({to, bytes, from});
  return {};
}

// Has the device do what the host was to do. What it does not come to stays the host's.
Status VulkanQueue::CopyReads(const CancelToken* cancel) {
  Status status;
  size_t done = 0;
  for (; done < reads_.size(); ++done) {
    const Read& read = reads_[done];
    status = CopyBack(read.to, read.from, read.bytes, cancel);
    if (!status) break;
  }
  reads_.erase(reads_.begin(), reads_.begin() + static_cast<ptrdiff_t>(done));
  if (status) FreeHeld();
  return status;
}

void VulkanQueue::FreeHeld() {
  for (const VulkanMemory::Piece* piece : held_) stream_->FreeLater(&memories_->device, piece);
  held_.clear();
}

Status VulkanQueue::CopyBack(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken* cancel) {
  TVMVM_CHECK_OK(OpenBatch(cancel));
  TVMVM_TRY(const VulkanPlace place, Readback(to, bytes, cancel));
  hazards_.Reads(AddressOf(from), static_cast<uint64_t>(bytes));
  stream_->operations().Copy(hazards_.MustWait(), PlaceOf(from), place, bytes);
  return {};
}

Status VulkanQueue::Copy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes,
                         const CancelToken* cancel) {
  TVMVM_CHECK_OK(CheckCopy(to, from, bytes));
  if (bytes == 0) return {};
  TVMVM_CHECK_OK(MakeRoom(cancel));
  hazards_.Reads(AddressOf(from), static_cast<uint64_t>(bytes));
  hazards_.Writes(AddressOf(to), static_cast<uint64_t>(bytes));
  stream_->operations().Copy(hazards_.MustWait(), PlaceOf(from), PlaceOf(to), bytes);
  return {};
}

// vkCmdFillBuffer takes multiples of four bytes; what stands out on both sides is copied.
Status VulkanQueue::Fill(const DeviceSpan& to, uint8_t value, int64_t bytes, const CancelToken* cancel) {
  TVMVM_CHECK_OK(CheckRange(to, bytes));
  if (bytes == 0) return {};
  char edge[16];
  std::memset(edge, value, sizeof edge);
  if (bytes <= static_cast<int64_t>(sizeof edge)) return CopyPiece(to, edge, bytes, cancel);
  const int64_t head = static_cast<int64_t>(-PlaceOf(to).offset & 3), tail = (bytes - head) & 3;
  if (head > 0) TVMVM_CHECK_OK(CopyPiece(to, edge, head, cancel));
  if (tail > 0) TVMVM_CHECK_OK(CopyPiece(Behind(to, bytes - tail), edge, tail, cancel));
  const DeviceSpan middle = Behind(to, head);
  TVMVM_CHECK_OK(MakeRoom(cancel));
  hazards_.Writes(AddressOf(middle), static_cast<uint64_t>(bytes - head - tail));
  stream_->operations().Fill(hazards_.MustWait(), PlaceOf(middle), bytes - head - tail, value * 0x01010101u);
  return {};
}

// The kernel's arguments as words; the result is how many of arguments_ are push constants.
Expected<uint32_t> VulkanQueue::PutArguments(const VulkanKernel& kernel, const LaunchRequest& request,
                                             int64_t points, const CancelToken* cancel) {
  arguments_.clear();
  arguments_.push_back(VulkanMemory::AddressOf(*status_) +
                       uint64_t{status_words_.Take(request)} * sizeof(int32_t));
  for (const DeviceSpan& buffer : request.buffers) arguments_.push_back(AddressOf(buffer));
  for (int64_t scalar : request.scalars) arguments_.push_back(static_cast<uint64_t>(scalar));
  arguments_.push_back(static_cast<uint64_t>(points));
  if (kernel.pushed) return static_cast<uint32_t>(arguments_.size());
  const size_t bytes = arguments_.size() * sizeof(uint64_t);
  TVMVM_TRY(const VulkanUpload upload, stream_->Upload(static_cast<int64_t>(bytes), cancel));
  std::memcpy(upload.host, arguments_.data(), bytes);
  arguments_[0] = upload.address;
  return 1;
}

Expected<int32_t> VulkanQueue::Launch(const LaunchRequest& request, const CancelToken* cancel) {
  const auto& set = static_cast<const VulkanKernelSet&>(*request.kernels);
  const int64_t points = GridPoints(request);
  if (points < 0) [[unlikely]]
    return ImpossibleGrid(request);
  if (points == 0) return 0;
  const VkPhysicalDeviceLimits& limits = context_->hardware().properties.limits;
  TVMVM_TRY(const GroupLayout groups,
            LayOutGroups(points, limits.maxComputeWorkGroupCount[0], limits.maxComputeWorkGroupCount[1]));
  if (request.kernel >= set.size() || request.buffers.size() != set.kernel(request.kernel).buffers.size() ||
      request.scalars.size() != set.kernel(request.kernel).scalars) [[unlikely]]
    return MakeError(Code::kInvalidArgument, "a launch with " + std::to_string(request.buffers.size()) +
                                                 " buffers and " + std::to_string(request.scalars.size()) +
                                                 " scalars of a kernel that takes others");
  const VulkanKernel& kernel = set.kernel(request.kernel);
  TVMVM_TRY(const VkPipeline pipeline, set.PipelineOf(request.kernel));
  if (status_words_.full()) TVMVM_CHECK_OK(Drain(cancel));

  TVMVM_CHECK_OK(MakeRoom(cancel));
  TVMVM_TRY(const uint32_t words, PutArguments(kernel, request, points, cancel));
  for (size_t i = 0; i < request.buffers.size(); ++i) {
    const DeviceSpan& buffer = request.buffers[i];
    if (!IsWritten(kernel.buffers[i]))
      hazards_.Reads(AddressOf(buffer), ExtentOf(buffer));
    else
      hazards_.Writes(AddressOf(buffer), ExtentOf(buffer));
  }
  stream_->operations().Dispatch(hazards_.MustWait(), set, pipeline, groups,
                                 std::span(arguments_).first(words));
  QueueCounts::Add(&counts_->launches);
  return 0;
}

Status VulkanQueue::Flush() { return stream_->Submit(); }

Status VulkanQueue::Drain(const CancelToken* cancel) {
  if (!stream_->idle()) QueueCounts::Add(&counts_->waits);
  TVMVM_CHECK_OK(stream_->Await(cancel));
  for (const Read& read : reads_)
    std::memcpy(read.to, WithinReach(read.from, read.bytes, kMostRead), static_cast<size_t>(read.bytes));
  reads_.clear();
  FreeHeld();
  TVMVM_CHECK_OK(stream_->Wait(cancel));
  status_words_.Collect(reinterpret_cast<int32_t*>(VulkanMemory::HostOf(*status_)));
  return {};
}

Expected<std::optional<KernelFailure>> VulkanQueue::Wait(const CancelToken* cancel) {
  TVMVM_CHECK_OK(Drain(cancel));
  for (const CopiedOut& copy : copies_out_) {
    std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    memories_->readback.Free(copy.piece);
  }
  copies_out_.clear();
  readback_used_ = 0;
  return status_words_.TakeFailure();
}

void VulkanQueue::FreeAfterWork(const DeviceMemory& memory) {
  if (memory.handle == 0) return;
  if (reads_.empty())
    stream_->FreeLater(&memories_->device, &PieceOf(memory));
  else
    held_.push_back(&PieceOf(memory));
}

}  // namespace tvmvm
