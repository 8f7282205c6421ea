#include "vm/interpreter/device_work.h"

#include <algorithm>
#include <new>
#include <string>

#include "bytecode/guarded.h"

namespace tvmvm {

DeviceWork::~DeviceWork() {
  queue_.reset();  // waits, so that the arena's blocks can go at once
  FreeUnfreed();
}

Status DeviceWork::Open(const CancelToken* cancel) {
  if (is_lost_) Drop();
  // What else failed there was another run's.
  if (const auto done = Wait(cancel); !done && done.error().code == Code::kCancelled)
    return tl::unexpected(done.error());
  if (queue_ != nullptr) return {};
  arena_.Trim();
  TVMVM_TRY(queue_, device_->NewQueue());
  return {};
}

Expected<std::optional<KernelFailure>> DeviceWork::Wait(const CancelToken* cancel) {
  if (!is_busy_) return std::optional<KernelFailure>();
  Expected<std::optional<KernelFailure>> done = Guarded([&] { return queue_->Wait(cancel); });
  if (!done && done.error().code != Code::kCancelled) {
    Drop();
    return done;
  }
  if (!done && !writes_host_) return done;
  if (!done && !Guarded([&] { return queue_->Wait(nullptr); })) {
    Drop();
    return done;
  }
  is_busy_ = writes_host_ = false;
  FreeUnfreed();
  return done;
}

// The queue may still know memory of the host that it is to write, so it is not to be waited for again.
void DeviceWork::Drop() {
  queue_.reset();  // waits for what the device does, and writes nothing
  FreeUnfreed();
  is_busy_ = writes_host_ = is_lost_ = false;
}

void DeviceWork::Abandon() {
  if (is_lost_)
    Drop();
  else if (writes_host_)
    (void)Wait(nullptr);
}

Status DeviceWork::AllocateArena(int64_t bytes, Buffer* buffer) {
  TVMVM_TRY(Arena::Region region, arena_.Push(bytes));
  buffer->origin = BufferOrigin::kDeviceArena;
  buffer->device = number_;
  buffer->place = {{region.block.host, region.block.handle, region.block.bytes}, region.offset};
  buffer->region = region.id;
  return {};
}

Status DeviceWork::Allocate(int64_t bytes, Buffer* buffer) {
  TVMVM_TRY(buffer->place.memory, AllocateMemory(bytes));
  buffer->origin = BufferOrigin::kDevice;
  buffer->device = number_;
  buffer->place.offset = 0;
  return {};
}

void DeviceWork::TakeBack(const Buffer& buffer) noexcept {
  if (buffer.origin == BufferOrigin::kDeviceArena)
    arena_.Pop(buffer.region);
  else
    Free(buffer.place.memory);
}

Expected<Block> DeviceWork::AllocateBlock(int64_t bytes) {
  TVMVM_TRY(DeviceMemory memory, AllocateMemory(bytes));
  return Block{memory.host, memory.handle, memory.bytes};
}

void DeviceWork::FreeBlock(const Block& block) { Free({block.host, block.handle, block.bytes}); }

Expected<DeviceMemory> DeviceWork::AllocateMemory(int64_t bytes) {
  if (unfreed_.capacity() == held_) unfreed_.reserve(2 * held_ + 4);
  TVMVM_CHECK_OK(account_->Reserve(std::max<int64_t>(bytes, 0), "memory of " + device_->name()));
  Expected<DeviceMemory> memory = Guarded([&] { return device_->Allocate(bytes, run_); });
  if (!memory) {
    account_->Release(std::max<int64_t>(bytes, 0));
    return memory;
  }
  account_->Add(memory->bytes - std::max<int64_t>(bytes, 0));
  ++held_;
  return memory;
}

void DeviceWork::Free(const DeviceMemory& memory) noexcept {
  account_->Release(memory.bytes);
  if (queue_ == nullptr) {
    --held_;
    return device_->Free(memory);
  }
  try {
    queue_->FreeAfterWork(memory);
    --held_;
  } catch (const std::bad_alloc&) {  // the queue has no memory to remember it
    unfreed_.push_back(memory);
  }
}

void DeviceWork::FreeUnfreed() noexcept {
  for (const DeviceMemory& memory : unfreed_) device_->Free(memory);
  held_ -= unfreed_.size();
  unfreed_.clear();
}

}  // namespace tvmvm
