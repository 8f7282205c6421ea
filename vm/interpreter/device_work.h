// DeviceWork: what one Invocation has on a device with memory of its own: a queue, an arena, tensors.
#pragma once

#include <memory>
#include <vector>

#include "allocator/account.h"
#include "allocator/arena.h"
#include "tvm-vm/device.h"
#include "vm/objects/object.h"

namespace tvmvm {

// The queue is in order, so memory that the program no longer holds is used again at once; blocks go back to
// the device behind the work that was submitted before.
class DeviceWork final : private BlockSource {
 public:
  // `number`: the device's in the program.
  // `account` counts what is held there; `run` may be stopped, or have a deadline. Both outlive this.
  DeviceWork(Device* device, uint32_t number, MemoryAccount* account, const CancelToken* run)
      : device_(device), number_(number), account_(account), run_(run), arena_(this) {}
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  // Makes the queue where there is none or the device was lost, and waits for work that was abandoned.
  // Errors: the device's; kCancelled.
  Status Open(const CancelToken* cancel);
  Queue& queue() { return *queue_; }  // after Open, until Wait fails

  // Something was submitted, or could not be: `status` comes from the queue. `writes_host`: where all is well
  // it writes memory of the host, which nobody may touch until Wait.
  template <class T>
  void Submitted(const Expected<T>& status, bool writes_host = false) {
    is_busy_ = true;
    writes_host_ = writes_host_ || (writes_host && status);
    is_lost_ = is_lost_ || (!status && status.error().code == Code::kDeviceLost);
  }
  bool writes_host() const { return writes_host_; }
  // Waits for everything that was submitted; at once where that is nothing. After every error no memory of
  // the host is written any more; after all but kCancelled the queue is gone, too, until Open makes another.
  // Errors: as Queue::Wait.
  Expected<std::optional<KernelFailure>> Wait(const CancelToken* cancel);
  // The work's results are not wanted: waits only where memory of the host is written.
  void Abandon();
  // The same after an exception: nobody knows what the queue was given. It goes, and nothing is written to
  // memory of the host any more.
  void Drop();

  // Gives the buffer memory, which comes back through TakeBack. Errors: the device's.
  Status AllocateArena(int64_t bytes, Buffer* buffer);
  Status Allocate(int64_t bytes, Buffer* buffer);
  void TakeBack(const Buffer& buffer) noexcept;
  void Trim() { arena_.Trim(); }
  int64_t arena_bytes() const { return arena_.held_bytes(); }

 private:
  Expected<Block> AllocateBlock(int64_t bytes) override;
  void FreeBlock(const Block& block) override;
  Expected<DeviceMemory> AllocateMemory(int64_t bytes);
  void Free(const DeviceMemory& memory) noexcept;
  void FreeUnfreed() noexcept;

  Device* device_;
  uint32_t number_;
  MemoryAccount* account_;
  const CancelToken* run_;
  std::unique_ptr<Queue> queue_;
  Arena arena_;
  size_t held_ = 0;                    // memories that are yet to be freed
  std::vector<DeviceMemory> unfreed_;  // after the next wait; room for all that are held
  bool is_busy_ = false;
  bool writes_host_ = false;
  bool is_lost_ = false;
};

}  // namespace tvmvm
