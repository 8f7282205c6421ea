#include "vm/interpreter/machine.h"

#include "allocator/thread_scratch.h"
#include "vm/objects/owned.h"

namespace tvmvm {

Machine::Machine(std::shared_ptr<const Binding> owner, std::shared_ptr<MemoryAccount> account,
                 std::shared_ptr<SharedPlans> plans)
    : binding_owner_(std::move(owner)),
      shared_plans_(std::move(plans)),
      program(*binding_owner_->program),
      binding(*binding_owner_),
      memory(binding.devices[0].get(), program.plans, &run, std::move(account), shared_plans_.get()),
      frames(&memory.pool, &memory.budget.account()),
      run(program, &frames),
      checks(binding),
      given_outputs(program.main().outputs.size()),
      numbers(size_t{2} * binding.longest_list + 8),
      addresses(binding.longest_list + 1),
      places(binding.first_other() ? binding.longest_list + 1 : 0),
      objects(size_t{2} * binding.longest_list + 1),
      results_(program.main().outputs.size()),
      staged_(program.main().outputs.size()),
      symbols_(binding.signature->symbol_count()),
      given_memory_(program.main().outputs.size()) {
  if (!binding.first_other()) return;
  devices.resize(binding.devices.size());
  for (uint32_t number = 1; number < devices.size(); ++number)
    if (Device* device = binding.devices[number].get())
      devices[number] = std::make_unique<DeviceWork>(device, number, &memory.budget.account());
  memory.SetDevices(devices);
}

Machine::~Machine() {
  End();
  devices.clear();  // before the binding, whose kernels and devices they use
  cpu.reset();
}

void Machine::SetLimits(const Limits& limits) {
  run.SetLimits(limits);
  memory.budget.set_limit(limits.max_bytes);
}

void Machine::Trim() {
  runs_ = 0;
  memory.Trim();
  for (const std::unique_ptr<DeviceWork>& work : devices)
    if (work) work->Trim();
  frames.Trim();
  TrimThreadScratch();
  CollectHost();
}

void Machine::SetTrimPolicy(const TrimPolicy& policy) {
  policy_ = policy;
  has_policy_ = policy.runs > 0 || policy.idle.count() > 0 || policy.held_bytes > 0;
  runs_ = last_end_ns_ = 0;
}

void Machine::TrimBefore() {
  const bool is_late = policy_.idle.count() > 0 && last_end_ns_ != 0 &&
                       SteadyNanoseconds() - last_end_ns_ >= policy_.idle.count();
  if (is_late) Trim();
}

void Machine::TrimAfter() {
  ++runs_;
  const bool is_wanted = memory.budget.account().is_awaited() ||
                         (policy_.runs > 0 && runs_ >= policy_.runs) ||
                         (policy_.held_bytes > 0 && held_bytes() > policy_.held_bytes);
  if (is_wanted) Trim();
  if (policy_.idle.count() > 0) last_end_ns_ = SteadyNanoseconds();
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
    run.Fail(pc, Code::kInvalidProgram, PlaceText(NameOf(operand), buffer->device));
    return false;
  }
  const int64_t offset = operand.offset == BufferOperand::kNoOffset ? 0 : frames.scalars[operand.offset];
  if (offset < 0 || wanted < 0 || offset > bytes->size || wanted > bytes->size - offset) [[unlikely]]
    return FailOutside(pc, operand, offset, wanted, bytes->size);
  bytes->data += offset;
  bytes->size -= offset;
  return true;
}

std::string Machine::NameOf(BufferOperand operand) const {
  if (operand.is_constant()) return "constant '" + program.constants[operand.index()].name + "'";
  return (operand.is_slot() ? "slot s" : "r") + std::to_string(operand.index());
}

bool Machine::FailOutside(const uint32_t* pc, BufferOperand operand, int64_t offset, int64_t wanted,
                          int64_t bytes) {
  run.Fail(pc, Code::kInvalidArgument,
           std::to_string(wanted) + " bytes at offset " + std::to_string(offset) + " of " + NameOf(operand) +
               ", which has " + std::to_string(bytes) + " bytes");
  return false;
}

const uint32_t* Machine::FailUnaligned(const uint32_t* pc, DType dtype, BufferOperand operand) {
  return run.Fail(pc, Code::kInvalidProgram,
                  "elements of " + std::string(DTypeName(dtype)) + " at offset " +
                      std::to_string(frames.scalars[operand.offset]) + " of " + NameOf(operand) +
                      ", whose address is no multiple of " + std::to_string(ElementAlignment(dtype)));
}

bool Machine::FailUnaligned(const uint32_t* pc, const KernelSpec& kernel, uint32_t buffer,
                            BufferOperand operand) {
  run.Fail(pc, Code::kInvalidProgram,
           "kernel '" + kernel.name + "' is given " + NameOf(operand) + " (buffer " + std::to_string(buffer) +
               ") at an address that is no multiple of " + std::to_string(kernel.alignments[buffer]));
  return false;
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

}  // namespace tvmvm
