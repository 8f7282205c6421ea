// What operands of instructions stand for: looked at in each launch, each copy and each load.
#include "vm/interpreter/machine.h"

namespace tvmvm {

Buffer* Machine::ArenaOf(const uint32_t* pc, uint32_t number) {
  const Slot& slot = frames.slots[number];
  Object* object = frames.refs[slot.arena];
  if (object == nullptr || object->kind != ObjectKind::kBuffer) [[unlikely]] {
    FailSlot(pc, number, nullptr);
    return nullptr;
  }
  auto* buffer = static_cast<Buffer*>(object);
  // The register may hold other memory by now.
  if (slot.offset > buffer->bytes || slot.bytes > buffer->bytes - slot.offset) [[unlikely]] {
    FailSlot(pc, number, buffer);
    return nullptr;
  }
  return buffer;
}

bool Machine::BytesOfAny(const uint32_t* pc, BufferOperand operand, int64_t wanted, Bytes* bytes,
                         bool* read_only) {
  const Buffer* buffer = nullptr;  // null: a constant
  if (operand.is_slot()) {
    buffer = ArenaOf(pc, operand.index());
    if (buffer == nullptr) return false;
    const Slot& slot = frames.slots[operand.index()];
    *bytes = {buffer->data + slot.offset, slot.bytes};
  } else if (operand.is_constant()) {
    *bytes = binding.constants[operand.index()];
  } else if (Object* object = frames.refs[operand.base];
             object != nullptr && object->kind == ObjectKind::kBuffer) {
    buffer = static_cast<Buffer*>(object);
    *bytes = {buffer->data, buffer->bytes};
  } else if (TensorObject* tensor = TensorAt(pc, operand.base)) {
    buffer = tensor->buffer;
    *bytes = {tensor->data, tensor->bytes};
  } else {
    return false;
  }
  *read_only = buffer == nullptr || buffer->read_only;
  if (buffer != nullptr && buffer->device != kHostDevice) [[unlikely]] {
    FailPlace(pc, operand, buffer->device);
    return false;
  }
  const int64_t offset = operand.offset == BufferOperand::kNoOffset ? 0 : frames.scalars[operand.offset];
  if (offset < 0 || wanted < 0 || offset > bytes->size || wanted > bytes->size - offset) [[unlikely]]
    return FailOutside(pc, operand, offset, wanted, bytes->size);
  bytes->data += offset;
  bytes->size -= offset;
  return true;
}

bool Machine::ShapeOf(const uint32_t* pc, const uint32_t* list, Shape* shape) {
  if (list[0] > kMaxRank) [[unlikely]]
    return FailShape(pc, list[0], nullptr);
  *shape = Shape();
  for (uint32_t i = 0; i < list[0]; ++i) shape->push_back(frames.scalars[list[1 + i]]);
  // 16 bytes is the largest element.
  if (std::optional<int64_t> count = shape->ElementCount(); !count || *count > INT64_MAX / 16) [[unlikely]]
    return FailShape(pc, list[0], shape);
  return true;
}

}  // namespace tvmvm
