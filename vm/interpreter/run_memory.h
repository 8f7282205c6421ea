// RunMemory: what one Invocation holds of memory: the account that counts it, the arena on the host, objects,
// and the plans of dims that were seen.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "allocator/arena.h"
#include "allocator/budget.h"
#include "tvm-vm/device.h"
#include "vm/interpreter/device_work.h"
#include "vm/interpreter/plan_cache.h"
#include "vm/interpreter/run_control.h"
#include "vm/objects/object.h"

namespace tvmvm {

class RunMemory final : public DeviceMemoryOwner, private BlockSource, private MemoryWaiter {
 public:
  // `cpu`: where the arena's blocks come from. `run` is told where there is no memory.
  // `account`: the Vm's, which counts what is held here, too. `shared`: its plans, which outlive this.
  RunMemory(Device* cpu, const std::vector<PlanSpec>& plan_specs, RunControl* run,
            std::shared_ptr<MemoryAccount> account, SharedPlans* shared)
      : budget(std::move(account)),
        pool(&arena_, &budget),
        plans(plan_specs, &budget.account(), shared),
        arena_(this),
        cpu_(cpu),
        run_(run) {
    budget.account().set_waiter(this);
    pool.late().set_run(this);
  }
  // Memory on devices comes from there; by number, null for the CPU and what is not used.
  void SetDevices(std::span<const std::unique_ptr<DeviceWork>> devices) {
    devices_ = devices;
    pool.set_device_memory(this);
  }

  // With one reference, which is the caller's; null after Fail. `purpose` is for the message.
  TensorObject* NewTensor(const uint32_t* pc, DType dtype, const Shape& shape, std::string_view purpose);
  // Memory for one region of the arena.
  Buffer* NewArenaBuffer(const uint32_t* pc, int64_t bytes);
  // Memory on a device: a region of its arena there, or a block of its own.
  Buffer* NewDeviceBuffer(const uint32_t* pc, uint32_t device, int64_t bytes, bool in_arena);

  int64_t arena_bytes() const { return arena_.held_bytes(); }
  // Gives back what is kept for the next run.
  void Trim() {
    trims_ = true;
    arena_.Trim();
    trims_ = false;
    pool.late().Trim();
    plans.Clear();
  }

  Budget budget;
  ObjectPool pool;
  PlanCache plans;

 private:
  bool GivesUp() const override { return run_->is_stopped(); }
  Expected<Block> AllocateBlock(int64_t bytes) override;
  void FreeBlock(const Block& block) override;
  void TakeBack(const Buffer& buffer) noexcept override { devices_[buffer.device]->TakeBack(buffer); }
  // What a new buffer uses of memory that is held.
  void Use(int64_t bytes, Buffer* buffer) {
    budget.Use(bytes);
    buffer->charged = bytes;
  }

  Arena arena_;
  Device* cpu_;
  std::span<const std::unique_ptr<DeviceWork>> devices_;
  RunControl* run_;
  bool trims_ = false;  // blocks are not wanted again soon
};

}  // namespace tvmvm
