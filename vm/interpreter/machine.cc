#include "vm/interpreter/machine.h"

#include "vm/objects/owned.h"

namespace tvmvm {

Machine::Machine(std::shared_ptr<const Binding> owner)
    : program(*owner->program),
      binding(*owner),
      pool(&arena_, &budget),
      frames(&pool),
      run(program, &frames),
      plans(program.plans),
      given_outputs(program.main().outputs.size()),
      numbers(size_t{2} * owner->longest_list + 8),
      addresses(owner->longest_list + 1),
      places(owner->devices.size() > 1 ? owner->longest_list + 1 : 0),
      objects(size_t{2} * owner->longest_list + 1),
      binding_owner_(std::move(owner)),
      arena_(this),
      results_(program.main().outputs.size()),
      staged_(program.main().outputs.size()),
      symbols_(binding.signature->symbol_count()),
      given_memory_(program.main().outputs.size()) {
  if (binding.devices.size() < 2) return;
  gpu = std::make_unique<DeviceWork>(binding.devices[1].get());
  pool.set_device_memory(gpu.get());
}

Machine::~Machine() {
  End();
  gpu.reset();  // before the binding, whose kernels and devices it uses
  cpu.reset();
}

void Machine::SetLimits(const Limits& limits) {
  run.SetLimits(limits);
  budget.set_limit(limits.max_bytes);
}

void Machine::Trim() {
  arena_.Trim();
  if (gpu) gpu->Trim();
  plans.Clear();
  frames.Trim();
}

TensorObject* Machine::TensorAt(const uint32_t* pc, uint32_t reg) {
  Object* object = frames.refs[reg];
  if (object == nullptr || object->kind != ObjectKind::kTensor) [[unlikely]] {
    run.Fail(pc, Code::kInvalidProgram,
             "r" + std::to_string(reg) + (object ? " holds no tensor" : " holds nothing"));
    return nullptr;
  }
  return static_cast<TensorObject*>(object);
}

bool Machine::BytesAt(const uint32_t* pc, uint32_t reg, int64_t offset, int64_t wanted, Bytes* bytes,
                      bool* read_only) {
  Object* object = frames.refs[reg];
  const Buffer* buffer = nullptr;
  if (object != nullptr && object->kind == ObjectKind::kBuffer) [[likely]] {
    buffer = static_cast<Buffer*>(object);
    *bytes = {buffer->data, buffer->bytes};
  } else if (TensorObject* tensor = TensorAt(pc, reg)) {
    buffer = tensor->buffer;
    *bytes = {tensor->data, tensor->bytes};
  } else {
    return false;
  }
  *read_only = buffer->read_only;
  if (buffer->device != DeviceClass::kCpu) [[unlikely]] {
    run.Fail(pc, Code::kInvalidProgram, "r" + std::to_string(reg) + " is on the gpu");
    return false;
  }
  if (offset < 0 || wanted < 0 || offset > bytes->size || wanted > bytes->size - offset) [[unlikely]] {
    run.Fail(pc, Code::kInvalidArgument,
             std::to_string(wanted) + " bytes at offset " + std::to_string(offset) + " of r" +
                 std::to_string(reg) + ", which has " + std::to_string(bytes->size) + " bytes");
    return false;
  }
  bytes->data += offset;
  bytes->size -= offset;
  return true;
}

Buffer* Machine::ArenaOf(const uint32_t* pc, uint32_t number) {
  const Slot& slot = frames.slots[number];
  Object* object = frames.refs[slot.arena];
  if (object == nullptr || object->kind != ObjectKind::kBuffer) [[unlikely]] {
    run.Fail(pc, Code::kInvalidProgram,
             "slot s" + std::to_string(number) + " lies in r" + std::to_string(slot.arena) +
                 ", which holds no memory");
    return nullptr;
  }
  auto* buffer = static_cast<Buffer*>(object);
  // The register may hold other memory by now.
  if (slot.offset > buffer->bytes || slot.bytes > buffer->bytes - slot.offset) [[unlikely]] {
    run.Fail(pc, Code::kInvalidProgram,
             "slot s" + std::to_string(number) + " ends at byte " + std::to_string(slot.offset + slot.bytes) +
                 " of r" + std::to_string(slot.arena) + ", which has " + std::to_string(buffer->bytes));
    return nullptr;
  }
  return buffer;
}

bool Machine::FailSlot(const uint32_t* pc, uint32_t number, int64_t offset, int64_t wanted) {
  const Buffer* buffer = ArenaOf(pc, number);
  if (buffer == nullptr) return false;
  const std::string name = "slot s" + std::to_string(number);
  if (buffer->device != DeviceClass::kCpu)
    run.Fail(pc, Code::kInvalidProgram, name + " is on the gpu");
  else
    run.Fail(pc, Code::kInvalidArgument,
             std::to_string(wanted) + " bytes at offset " + std::to_string(offset) + " of " + name +
                 ", which has " + std::to_string(frames.slots[number].bytes) + " bytes");
  return false;
}

bool Machine::BytesOfAny(const uint32_t* pc, BufferOperand operand, int64_t wanted, Bytes* bytes,
                         bool* read_only) {
  const int64_t offset = operand.offset == BufferOperand::kNoOffset ? 0 : frames.scalars[operand.offset];
  if (operand.is_slot()) return FailSlot(pc, operand.index(), offset, wanted);
  if (!operand.is_constant()) return BytesAt(pc, operand.base, offset, wanted, bytes, read_only);
  *bytes = binding.constants[operand.index()];
  *read_only = true;
  if (offset < 0 || wanted < 0 || offset > bytes->size || wanted > bytes->size - offset) [[unlikely]] {
    run.Fail(pc, Code::kInvalidArgument,
             std::to_string(wanted) + " bytes at offset " + std::to_string(offset) + " of constant '" +
                 program.constants[operand.index()].name + "', which has " + std::to_string(bytes->size) +
                 " bytes");
    return false;
  }
  bytes->data += offset;
  bytes->size -= offset;
  return true;
}

const uint32_t* Machine::FailUnaligned(const uint32_t* pc, DType dtype, BufferOperand operand) {
  const std::string place = operand.is_constant()
                                ? "constant '" + program.constants[operand.index()].name + "'"
                            : operand.is_slot() ? "slot s" + std::to_string(operand.index())
                                                : "r" + std::to_string(operand.base);
  return run.Fail(pc, Code::kInvalidProgram,
                  "elements of " + std::string(DTypeName(dtype)) + " at offset " +
                      std::to_string(frames.scalars[operand.offset]) + " of " + place +
                      ", whose address is no multiple of " + std::to_string(ElementAlignment(dtype)));
}

bool Machine::ShapeOf(const uint32_t* pc, const uint32_t* list, Shape* shape) {
  if (list[0] > kMaxRank) {
    run.Fail(pc, Code::kUnsupported,
             "rank " + std::to_string(list[0]) + ", at most " + std::to_string(kMaxRank) + " is possible");
    return false;
  }
  *shape = Shape();
  for (uint32_t i = 0; i < list[0]; ++i) shape->push_back(frames.scalars[list[1 + i]]);
  // 16 bytes is the largest element.
  if (std::optional<int64_t> count = shape->ElementCount(); !count || *count > INT64_MAX / 16) {
    run.Fail(pc, Code::kInvalidArgument, "a tensor of shape " + shape->ToString() + " cannot be");
    return false;
  }
  return true;
}

TensorObject* Machine::NewTensor(const uint32_t* pc, DType dtype, const Shape& shape,
                                 std::string_view purpose) {
  Expected<TensorObject*> tensor = pool.AllocateTensor(dtype, shape, purpose);
  if (tensor) [[likely]]
    return *tensor;
  run.Fail(pc, tensor.error());
  return nullptr;
}

// What is charged and taken belongs to the buffer at once, so that it goes back whatever fails after.
Buffer* Machine::NewArenaBuffer(const uint32_t* pc, int64_t bytes) {
  Owned<Buffer> buffer(pool, pool.NewBuffer());
  if (Status status = bytes < 0 ? Status() : budget.Reserve(bytes, "arena"); !status) {
    run.Fail(pc, status.error());
    return nullptr;
  }
  buffer->charged = std::max<int64_t>(bytes, 0);
  Expected<Arena::Region> region = arena_.Push(bytes);
  if (!region) {
    run.Fail(pc, region.error());
    return nullptr;
  }
  buffer->origin = BufferOrigin::kArena;
  buffer->data = static_cast<char*>(region->block.host) + region->offset;
  buffer->bytes = bytes;
  buffer->region = region->id;
  return buffer.Give();
}

Buffer* Machine::NewDeviceBuffer(const uint32_t* pc, int64_t bytes, bool in_arena) {
  Owned<Buffer> buffer(pool, pool.NewBuffer());
  if (Status status = bytes < 0 ? Status() : budget.Reserve(bytes, in_arena ? "arena" : "tensor"); !status) {
    run.Fail(pc, status.error());
    return nullptr;
  }
  buffer->charged = std::max<int64_t>(bytes, 0);
  Status status = in_arena ? gpu->AllocateArena(bytes, buffer.get()) : gpu->Allocate(bytes, buffer.get());
  if (!status) {
    run.Fail(pc, status.error());
    return nullptr;
  }
  buffer->bytes = bytes;
  return buffer.Give();
}

Expected<Block> Machine::AllocateBlock(int64_t bytes) {
  TVMVM_TRY(DeviceMemory memory, binding.devices[0]->Allocate(bytes));
  if (memory.host == nullptr) {
    binding.devices[0]->Free(memory);
    return MakeError(Code::kUnsupported,
                     "device " + binding.devices[0]->name() + " has no memory that the host can reach");
  }
  return Block{memory.host, memory.handle, memory.bytes};
}

void Machine::FreeBlock(const Block& block) {
  binding.devices[0]->Free({block.host, block.handle, block.bytes});
}

}  // namespace tvmvm
