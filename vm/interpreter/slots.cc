// Handlers of slots: places of a plan's values.
#include <string>

#include "vm/interpreter/device_handlers.h"
#include "vm/interpreter/handlers.h"

namespace tvmvm {
namespace {

inline const uint32_t* AfterList(const uint32_t* list) { return list + 1 + list[0]; }

// Lets a caller's tensor take the slot's place where it lies on the same device and has its size. What may
// not lie there stays where the plan put it, and is copied.
const uint32_t* StandIn(Machine& m, const uint32_t* pc, size_t number, bool read_only) {
  Slot& slot = m.frames.slots[pc[1]];
  const Tensor* tensor = m.Resident(number);
  const bool fits = tensor != nullptr && tensor->byte_count() == slot.bytes &&
                    m.IsOnDevice(BufferOperand{pc[1] | BufferOperand::kSlotBit});
  if (fits) slot = {0, slot.bytes, slot.arena, read_only, tensor};
  return pc + 3;
}

}  // namespace

const uint32_t* HandleSlots(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 5;
  const std::span<const int64_t> sizes = m.frames.Gather(list, m.numbers.data());
  for (size_t k = 0; k < sizes.size(); ++k)
    if (sizes[k] < 0)
      return m.run.Fail(pc, Code::kInvalidArgument,
                        "value " + std::to_string(k) + " has " + std::to_string(sizes[k]) + " bytes");
  const MemoryPlan* plan = m.memory.plans.Get(PlanId{pc[3]}, sizes, &m.run);
  if (plan == nullptr) [[unlikely]]
    return FailWork(m, pc, {Code::kCancelled, "the memory plan was given up"});
  // What the register held goes first: in a loop the same memory serves every turn.
  m.frames.SetRef(pc[1], nullptr);
  Buffer* buffer = pc[4] == 0 ? m.memory.NewArenaBuffer(pc, plan->total_bytes)
                              : m.memory.NewDeviceBuffer(pc, plan->total_bytes, true);
  if (buffer == nullptr) return nullptr;
  m.frames.SetRef(pc[1], buffer);
  Slot* slots = m.frames.slots + pc[2];
  for (size_t k = 0; k < sizes.size(); ++k) slots[k] = {plan->offsets[k], sizes[k], pc[1]};
  return AfterList(list);
}

const uint32_t* HandleSlotPart(Machine& m, const uint32_t* pc) {
  const Slot& whole = m.frames.slots[pc[2]];
  const int64_t offset = m.frames.scalars[pc[3]], bytes = m.frames.scalars[pc[4]];
  if (offset < 0 || bytes < 0 || offset > whole.bytes || bytes > whole.bytes - offset) [[unlikely]]
    return m.run.Fail(pc, Code::kInvalidArgument,
                      std::to_string(bytes) + " bytes at offset " + std::to_string(offset) + " of slot s" +
                          std::to_string(pc[2]) + ", which has " + std::to_string(whole.bytes) + " bytes");
  Slot part = whole;
  part.offset += offset;
  part.bytes = bytes;
  m.frames.slots[pc[1]] = part;
  return pc + 5;
}

const uint32_t* HandleSlotInput(Machine& m, const uint32_t* pc) { return StandIn(m, pc, pc[2], true); }

const uint32_t* HandleSlotOutput(Machine& m, const uint32_t* pc) {
  return StandIn(m, pc, m.program.main().inputs.size() + pc[2], false);
}

}  // namespace tvmvm
