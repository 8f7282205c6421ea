#include "vm/interpreter/run_memory.h"

#include <algorithm>

#include "bytecode/guarded.h"
#include "vm/objects/owned.h"

namespace tvmvm {

TensorObject* RunMemory::NewTensor(const uint32_t* pc, DType dtype, const Shape& shape,
                                   std::string_view purpose) {
  Expected<TensorObject*> tensor = pool.AllocateTensor(dtype, shape, purpose);
  if (tensor) [[likely]]
    return *tensor;
  run_->Fail(pc, tensor.error());
  return nullptr;
}

// What is taken belongs to the buffer at once, so that it goes back whatever fails after.
Buffer* RunMemory::NewArenaBuffer(const uint32_t* pc, int64_t bytes) {
  Owned<Buffer> buffer(pool, pool.NewBuffer());
  Expected<Arena::Region> region = arena_.Push(bytes);
  if (!region) {
    run_->Fail(pc, region.error());
    return nullptr;
  }
  buffer->origin = BufferOrigin::kArena;
  buffer->data = static_cast<char*>(region->block.host) + region->offset;
  buffer->bytes = bytes;
  buffer->region = region->id;
  Use(bytes, buffer.get());
  return buffer.Give();
}

Buffer* RunMemory::NewDeviceBuffer(const uint32_t* pc, uint32_t device, int64_t bytes, bool in_arena) {
  Owned<Buffer> buffer(pool, pool.NewBuffer());
  DeviceWork& work = *devices_[device];
  Status status = in_arena ? work.AllocateArena(bytes, buffer.get()) : work.Allocate(bytes, buffer.get());
  if (!status) {
    run_->Fail(pc, status.error());
    return nullptr;
  }
  buffer->bytes = bytes;
  Use(bytes, buffer.get());
  return buffer.Give();
}

Expected<Block> RunMemory::AllocateBlock(int64_t bytes) {
  TVMVM_CHECK_OK(budget.account().Reserve(bytes, "arena"));
  Expected<DeviceMemory> allocated = Guarded([&] { return cpu_->Allocate(bytes, run_); });
  if (!allocated) {
    budget.account().Release(bytes);
    return tl::unexpected(allocated.error());
  }
  const DeviceMemory memory = *allocated;
  if (memory.host == nullptr) {
    cpu_->Free(memory);
    budget.account().Release(bytes);
    return MakeError(Code::kUnsupported, "device " + cpu_->name() + " has no memory that the host can reach");
  }
  return Block{memory.host, memory.handle, memory.bytes};
}

void RunMemory::FreeBlock(const Block& block) {
  if (trims_) DiscardPages(block.host, block.bytes);
  cpu_->Free({block.host, block.handle, block.bytes});
  budget.account().Release(block.bytes);
}

}  // namespace tvmvm
