#include "vm/interpreter/run_memory.h"

#include <algorithm>

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

bool RunMemory::Charge(const uint32_t* pc, int64_t bytes, std::string_view purpose, Buffer* buffer) {
  if (bytes < 0) return true;  // whoever is asked for them refuses
  const Status status = budget.Reserve(bytes, purpose);
  if (!status) [[unlikely]]
    run_->Fail(pc, status.error());
  else
    buffer->charged = bytes;
  return status.has_value();
}

// What is charged and taken belongs to the buffer at once, so that it goes back whatever fails after.
Buffer* RunMemory::NewArenaBuffer(const uint32_t* pc, int64_t bytes) {
  Owned<Buffer> buffer(pool, pool.NewBuffer());
  if (!Charge(pc, bytes, "arena", buffer.get())) return nullptr;
  Expected<Arena::Region> region = arena_.Push(bytes);
  if (!region) {
    run_->Fail(pc, region.error());
    return nullptr;
  }
  buffer->origin = BufferOrigin::kArena;
  buffer->data = static_cast<char*>(region->block.host) + region->offset;
  buffer->bytes = bytes;
  buffer->region = region->id;
  return buffer.Give();
}

Buffer* RunMemory::NewDeviceBuffer(const uint32_t* pc, uint32_t device, int64_t bytes, bool in_arena) {
  Owned<Buffer> buffer(pool, pool.NewBuffer());
  if (!Charge(pc, bytes, in_arena ? "arena" : "tensor", buffer.get())) return nullptr;
  DeviceWork& work = *devices_[device];
  Status status = in_arena ? work.AllocateArena(bytes, buffer.get()) : work.Allocate(bytes, buffer.get());
  if (!status) {
    run_->Fail(pc, status.error());
    return nullptr;
  }
  buffer->bytes = bytes;
  return buffer.Give();
}

Expected<Block> RunMemory::AllocateBlock(int64_t bytes) {
  TVMVM_TRY(DeviceMemory memory, cpu_->Allocate(bytes));
  if (memory.host == nullptr) {
    cpu_->Free(memory);
    return MakeError(Code::kUnsupported, "device " + cpu_->name() + " has no memory that the host can reach");
  }
  return Block{memory.host, memory.handle, memory.bytes};
}

void RunMemory::FreeBlock(const Block& block) { cpu_->Free({block.host, block.handle, block.bytes}); }

}  // namespace tvmvm
