#include "devices/opencl/opencl_queue.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "devices/driver/memory_range.h"

namespace tvmvm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kPolling{50}, kShortestSleep{20}, kLongestSleep{1000};
constexpr int kSleepShare = 16;  // a sleep is this part of what was waited so far
constexpr int64_t kMostGroupsX = INT32_MAX, kMostGroupsY = 65535;
// Copies from the host up to these sizes do not wait; the latter behind launches, which may take long.
constexpr int64_t kStagedBytes = 1 << 20, kStagedBehindLaunches = 4 << 20;
constexpr size_t kEpochPieces = 32;  // an epoch ends with this much to free
constexpr int64_t kEpochBytes = 64 << 20;

size_t OffsetOf(const DeviceSpan& span) {
  if (span.memory.handle == 0) return 0;  // memory of nothing
  return static_cast<size_t>(OpenClPieceOf(span.memory).offset + span.offset);
}

cl_mem BufferOf(const DeviceSpan& span) {
  return span.memory.handle == 0 ? nullptr : OpenClContext::BufferOf(OpenClPieceOf(span.memory));
}

uint64_t BlockIdOf(const DeviceSpan& span) {
  return span.memory.handle == 0 ? 0 : OpenClContext::BlockIdOf(OpenClPieceOf(span.memory));
}

char* HostOf(const DeviceSpan& span) { return static_cast<char*>(span.memory.host) + span.offset; }

}  // namespace

Expected<std::unique_ptr<OpenClQueue>> OpenClQueue::Create(std::shared_ptr<OpenClContext> context,
                                                           QueueCounts* counts) {
  std::unique_ptr<OpenClQueue> queue(new OpenClQueue(std::move(context), counts));
  OpenClContext& c = *queue->context_;
  TVMVM_TRY(queue->queue_, c.NewQueue());
  TVMVM_TRY(queue->status_, c.Allocate(StatusWords::kBytes));
  const DeviceSpan words{{nullptr, reinterpret_cast<uint64_t>(queue->status_), StatusWords::kBytes}, 0};
  TVMVM_CHECK_OK(queue->Fill(words, 0, StatusWords::kBytes, nullptr));
  TVMVM_CHECK_OK(queue->Drain(nullptr));
  if (!c.shares_memory()) queue->status_copy_.resize(StatusWords::kCount);
  return queue;
}

OpenClQueue::~OpenClQueue() {
  const OpenClFunctions& f = context_->f();
  if (queue_ != nullptr) f.Finish(queue_);
  for (Epoch& epoch : sealed_) Release(&epoch);
  Release(&open_);
  context_->Free(status_);
  for (const KernelObjects& set : objects_)
    for (const Turns& turns : set.kernels)
      for (const KernelObject& object : turns.objects) f.ReleaseKernel(object.kernel);
  if (queue_ != nullptr) f.ReleaseCommandQueue(queue_);
}

// Where resources are missing it is asked whether the work before was still done: if not, the device is lost.
Status OpenClQueue::CheckWorkBefore(cl_int result, const char* what) {
  idle_ = false;
  if (result != CL_OUT_OF_RESOURCES) [[likely]]
    return {};
  return context_->CheckWork(context_->f().Finish(queue_), what);
}

Status OpenClQueue::Submitted(cl_int result, const char* what) {
  TVMVM_CHECK_OK(CheckWorkBefore(result, what));
  return context_->Check(result, what);
}

Status OpenClQueue::CopyIn(const DeviceSpan& to, const void* from, int64_t bytes, const CancelToken*) {
  TVMVM_CHECK_OK(CheckRange(to, bytes));
  TVMVM_CHECK_OK(context_->CheckHealth());
  if (bytes == 0) return {};
  const auto size = static_cast<size_t>(bytes);
  if (to.memory.host != nullptr && idle_) {
    std::memcpy(HostOf(to), from, size);
    return {};
  }
  if (bytes > (status_words_.used() > 0 ? kStagedBehindLaunches : kStagedBytes)) {
    QueueCounts::Add(&counts_->waits);
    return Submitted(context_->f().EnqueueWriteBuffer(queue_, BufferOf(to), CL_TRUE, OffsetOf(to), size, from,
                                                      0, nullptr, nullptr),
                     "clEnqueueWriteBuffer");
  }
  std::unique_ptr<char[]> staging(new (std::nothrow) char[size]);
  if (!staging) return MakeError(Code::kOutOfMemory, "no " + std::to_string(bytes) + " bytes to copy from");
  std::memcpy(staging.get(), from, size);
  open_.staging.push_back(std::move(staging));  // first, as it may throw
  TVMVM_CHECK_OK(
      Submitted(context_->f().EnqueueWriteBuffer(queue_, BufferOf(to), CL_FALSE, OffsetOf(to), size,
                                                 open_.staging.back().get(), 0, nullptr, nullptr),
                "clEnqueueWriteBuffer"));
  open_.bytes += bytes;
  SealEpoch();
  return {};
}

Status OpenClQueue::CopyOut(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken*) {
  TVMVM_CHECK_OK(CheckRange(from, bytes));
  TVMVM_CHECK_OK(context_->CheckHealth());
  if (bytes == 0) return {};
  if (from.memory.host != nullptr && idle_) {
    std::memcpy(to, HostOf(from), static_cast<size_t>(bytes));
    return {};
  }
  return Submitted(context_->f().EnqueueReadBuffer(queue_, BufferOf(from), CL_FALSE, OffsetOf(from),
                                                   static_cast<size_t>(bytes), to, 0, nullptr, nullptr),
                   "clEnqueueReadBuffer");
}

Status OpenClQueue::Copy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes, const CancelToken*) {
  TVMVM_CHECK_OK(CheckCopy(to, from, bytes));
  TVMVM_CHECK_OK(context_->CheckHealth());
  if (bytes == 0) return {};
  return Submitted(
      context_->f().EnqueueCopyBuffer(queue_, BufferOf(from), BufferOf(to), OffsetOf(from), OffsetOf(to),
                                      static_cast<size_t>(bytes), 0, nullptr, nullptr),
      "clEnqueueCopyBuffer");
}

// Drivers fill with wide patterns many times faster.
Status OpenClQueue::Fill(const DeviceSpan& to, uint8_t value, int64_t bytes, const CancelToken*) {
  TVMVM_CHECK_OK(CheckRange(to, bytes));
  TVMVM_CHECK_OK(context_->CheckHealth());
  if (bytes == 0) return {};
  uint8_t pattern[16];
  std::memset(pattern, value, sizeof pattern);
  const size_t offset = OffsetOf(to), size = static_cast<size_t>(bytes);
  const size_t wide = (offset | size) % sizeof pattern == 0 ? sizeof pattern : 1;
  return Submitted(
      context_->f().EnqueueFillBuffer(queue_, BufferOf(to), pattern, wide, offset, size, 0, nullptr, nullptr),
      "clEnqueueFillBuffer");
}

Expected<OpenClQueue::KernelObject*> OpenClQueue::ObjectOf(const OpenClKernelSet& set, uint32_t index) {
  auto found = std::find_if(objects_.begin(), objects_.end(),
                            [&](const KernelObjects& objects) { return objects.set == set.id(); });
  if (found == objects_.end()) found = objects_.insert(found, {set.id(), std::vector<Turns>(set.size())});
  Turns& turns = found->kernels[index];
  if (turns.round != round_ || turns.next == kMostObjects) turns.next = 0;
  turns.round = round_;
  if (turns.next == turns.objects.size()) {
    turns.objects.reserve(turns.next + 1);  // first, as it may throw
    TVMVM_TRY(cl_kernel kernel, set.NewKernelObject(index));
    turns.objects.push_back({kernel, {}});
  }
  return &turns.objects[turns.next++];
}

// Arguments that are what they were last time are not set again.
Status OpenClQueue::SetArguments(const OpenClKernel& kernel, const LaunchRequest& request, int64_t points,
                                 KernelObject* object) {
  arguments_.clear();
  identities_.clear();
  auto add = [this](uint64_t argument, uint64_t identity) {
    arguments_.push_back(argument);
    identities_.push_back(identity);
  };
  auto add_place = [&](cl_mem buffer, uint64_t block, size_t offset) {
    add(reinterpret_cast<uint64_t>(buffer), block);
    add(offset, offset);
  };
  add_place(OpenClContext::BufferOf(*status_), OpenClContext::BlockIdOf(*status_),
            static_cast<size_t>(status_->offset) + status_words_.Take(request) * sizeof(int32_t));
  for (const DeviceSpan& buffer : request.buffers)
    add_place(BufferOf(buffer), BlockIdOf(buffer), OffsetOf(buffer));
  for (int64_t scalar : request.scalars) add(static_cast<uint64_t>(scalar), static_cast<uint64_t>(scalar));
  add(static_cast<uint64_t>(points), static_cast<uint64_t>(points));

  const bool first = object->arguments.empty();
  const std::vector<uint64_t> before = std::exchange(object->arguments, {});  // none, should one fail
  static_assert(sizeof(cl_mem) == sizeof(uint64_t));
  for (uint32_t i = 0; i < kernel.argument_count(); ++i) {
    if (!first && before[i] == identities_[i]) continue;
    TVMVM_CHECK_OK(context_->Check(
        context_->f().SetKernelArg(object->kernel, i, sizeof(uint64_t), &arguments_[i]), "clSetKernelArg"));
  }
  object->arguments = identities_;
  return {};
}

Expected<int32_t> OpenClQueue::Launch(const LaunchRequest& request, const CancelToken* cancel) {
  const auto& set = static_cast<const OpenClKernelSet&>(*request.kernels);
  const int64_t points = GridPoints(request);
  if (points < 0) [[unlikely]]
    return ImpossibleGrid(request);
  if (points == 0) return 0;
  TVMVM_TRY(const GroupLayout groups, LayOutGroups(points, kMostGroupsX, kMostGroupsY));
  if (request.kernel >= set.size() || request.buffers.size() != set.kernel(request.kernel).buffers ||
      request.scalars.size() != set.kernel(request.kernel).scalars) [[unlikely]]
    return MakeError(Code::kInvalidArgument, "a launch with " + std::to_string(request.buffers.size()) +
                                                 " buffers and " + std::to_string(request.scalars.size()) +
                                                 " scalars of a kernel that takes others");
  TVMVM_CHECK_OK(context_->CheckHealth());
  if (status_words_.full()) TVMVM_CHECK_OK(Drain(cancel));
  const OpenClKernel& kernel = set.kernel(request.kernel);
  TVMVM_TRY(KernelObject * object, ObjectOf(set, request.kernel));
  TVMVM_CHECK_OK(SetArguments(kernel, request, points, object));
  const size_t global[3] = {static_cast<size_t>(groups.x) * kernel.group[0],
                            static_cast<size_t>(groups.y) * kernel.group[1], kernel.group[2]};
  const cl_int result = context_->f().EnqueueNDRangeKernel(queue_, object->kernel, 3, nullptr, global,
                                                           kernel.group.data(), 0, nullptr, nullptr);
  TVMVM_CHECK_OK(CheckWorkBefore(result, "clEnqueueNDRangeKernel"));
  TVMVM_CHECK_OK(context_->CheckKernel(result, "clEnqueueNDRangeKernel"));
  QueueCounts::Add(&counts_->launches);
  // Drivers collect work until they are told to begin: early at first, then seldom.
  if (++unflushed_ < flush_after_) return 0;
  flush_after_ = std::min(2 * flush_after_, kLargestFlush);
  TVMVM_CHECK_OK(Flush());
  return 0;
}

Status OpenClQueue::Flush() {
  if (idle_) return {};
  unflushed_ = 0;
  return context_->CheckWork(context_->f().Flush(queue_), "clFlush");
}

// An event behind all work. The status words that are used arrive with it.
Expected<cl_event> OpenClQueue::Finished() {
  const OpenClFunctions& f = context_->f();
  cl_event done = nullptr;
  if (status_copy_.empty() || status_words_.used() == 0) {
    TVMVM_CHECK_OK(context_->CheckWork(f.EnqueueMarkerWithWaitList(queue_, 0, nullptr, &done),
                                       "clEnqueueMarkerWithWaitList"));
  } else {
    TVMVM_CHECK_OK(Submitted(
        f.EnqueueReadBuffer(queue_, OpenClContext::BufferOf(*status_), CL_FALSE,
                            static_cast<size_t>(status_->offset), status_words_.used() * sizeof(int32_t),
                            status_copy_.data(), 0, nullptr, &done),
        "clEnqueueReadBuffer"));
  }
  return done;
}

// Looks without sleeping for a while, then sleeps for a small part of the time that has passed.
Status OpenClQueue::Await(cl_event event, const CancelToken* cancel) {
  const OpenClFunctions& f = context_->f();
  const auto begin = Clock::now();
  while (true) {
    cl_int state = CL_COMPLETE;
    TVMVM_CHECK_OK(context_->CheckWork(
        f.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr),
        "clGetEventInfo"));
    if (state == CL_COMPLETE) return {};
    if (state < 0) return context_->Check(CL_DEVICE_NOT_AVAILABLE, OpenClResultName(state).c_str());
    const auto passed = Clock::now() - begin;
    if (passed < kPolling) continue;
    if (cancel == nullptr) return context_->CheckWork(f.Finish(queue_), "clFinish");
    if (cancel->cancelled())
      return MakeError(Code::kCancelled, "stopped while waiting for " + context_->name());
    std::this_thread::sleep_for(
        std::clamp<Clock::duration>(passed / kSleepShare, kShortestSleep, kLongestSleep));
  }
}

Status OpenClQueue::Drain(const CancelToken* cancel) {
  TVMVM_CHECK_OK(context_->CheckHealth());
  if (!idle_) {
    QueueCounts::Add(&counts_->waits);
    TVMVM_TRY(cl_event done, Finished());
    Status status = context_->CheckWork(context_->f().Flush(queue_), "clFlush");
    if (status) status = Await(done, cancel);
    context_->f().ReleaseEvent(done);
    TVMVM_CHECK_OK(std::move(status));
    idle_ = true;
    ++round_;
    flush_after_ = kFirstFlush;
    unflushed_ = 0;
  }
  int32_t* words = status_copy_.empty() ? reinterpret_cast<int32_t*>(OpenClContext::HostOf(*status_))
                                        : status_copy_.data();
  const auto used = static_cast<int64_t>(status_words_.used() * sizeof(int32_t));
  const bool failed = status_words_.Collect(words);
  for (Epoch& epoch : sealed_) Release(&epoch);
  sealed_.clear();
  Release(&open_);
  if (!failed || status_copy_.empty()) return {};
  return Fill({{nullptr, reinterpret_cast<uint64_t>(status_), StatusWords::kBytes}, 0}, 0, used, cancel);
}

Expected<std::optional<KernelFailure>> OpenClQueue::Wait(const CancelToken* cancel) {
  TVMVM_CHECK_OK(Drain(cancel));
  return status_words_.TakeFailure();
}

void OpenClQueue::FreeAfterWork(const DeviceMemory& memory) {
  if (memory.handle == 0) return;
  const OpenClContext::Piece* piece = &OpenClPieceOf(memory);
  if (idle_) return context_->Free(piece);
  open_.pieces.push_back(piece);
  open_.bytes += piece->bytes;
  SealEpoch();
}

// Ends the open epoch when it is large, and frees what the device is done with.
void OpenClQueue::SealEpoch() {
  const OpenClFunctions& f = context_->f();
  const size_t count = open_.pieces.size() + open_.staging.size();
  if (count < kEpochPieces && open_.bytes < kEpochBytes) return;
  try {
    sealed_.emplace_back();
  } catch (const std::bad_alloc&) {
    return;  // the next wait frees
  }
  if (f.EnqueueMarkerWithWaitList(queue_, 0, nullptr, &open_.done) != CL_SUCCESS)
    return sealed_.pop_back();  // as above
  f.Flush(queue_);
  sealed_.back() = std::exchange(open_, {});
  size_t done = 0;
  for (; done < sealed_.size(); ++done) {
    cl_int state = CL_QUEUED;
    f.GetEventInfo(sealed_[done].done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    if (state != CL_COMPLETE) break;
    Release(&sealed_[done]);
  }
  sealed_.erase(sealed_.begin(), sealed_.begin() + static_cast<ptrdiff_t>(done));
}

void OpenClQueue::Release(Epoch* epoch) {
  for (const OpenClContext::Piece* piece : epoch->pieces) context_->Free(piece);
  if (epoch->done != nullptr) context_->f().ReleaseEvent(epoch->done);
  *epoch = {};
}

}  // namespace tvmvm
