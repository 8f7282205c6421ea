// Handlers of plans, arenas and slots, which are places of a plan's values.
#include <string>

#include "vm/interpreter/device_handlers.h"
#include "vm/interpreter/handlers.h"

namespace tvmvm {
namespace {

// Lets a caller's tensor take the slot's place where it lies on the same device and has its size. What may
// not lie there stays where the plan put it, and is copied.
const uint32_t* StandIn(Machine& m, const uint32_t* pc, size_t number, bool read_only) {
  Slot& slot = m.frames.slots[pc[1]];
  const Tensor* tensor = m.Resident(number);
  const bool fits = tensor != nullptr && tensor->byte_count() == slot.bytes &&
                    m.DeviceOf(SlotOperand(pc[1])) == m.DeviceOf(*tensor);
  if (fits) slot = {0, slot.bytes, slot.arena, read_only, tensor};
  return pc + 3;
}

// The plan for the listed sizes; null after Fail.
const MemoryPlan* PlanFor(Machine& m, const uint32_t* pc, PlanId id, const uint32_t* list) {
  const std::span<const int64_t> sizes = m.frames.Gather(list, m.numbers.data());
  for (size_t k = 0; k < sizes.size(); ++k)
    if (sizes[k] < 0) {
      m.run.Fail(pc, Code::kInvalidArgument,
                 "value " + std::to_string(k) + " has " + std::to_string(sizes[k]) + " bytes");
      return nullptr;
    }
  const MemoryPlan* plan = m.memory.plans.Get(id, sizes, &m.run);
  if (plan == nullptr) [[unlikely]]
    FailWork(m, pc, {Code::kCancelled, "the memory plan was given up"});
  return plan;
}

// Puts a region of a queue's arena into a register; false after Fail.
bool MakeArena(Machine& m, const uint32_t* pc, uint32_t reg, uint32_t queue, int64_t bytes) {
  // What the register held goes first: in a loop the same memory serves every turn.
  m.frames.SetRef(reg, nullptr);
  Buffer* buffer =
      queue == 0 ? m.memory.NewArenaBuffer(pc, bytes) : m.memory.NewDeviceBuffer(pc, queue, bytes, true);
  if (buffer == nullptr) return false;
  m.frames.SetRef(reg, buffer);
  return true;
}

}  // namespace

const uint32_t* HandleSlots(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 5;
  const MemoryPlan* plan = PlanFor(m, pc, PlanId{pc[3]}, list);
  if (plan == nullptr || !MakeArena(m, pc, pc[1], pc[4], plan->total_bytes)) return nullptr;
  Slot* slots = m.frames.slots + pc[2];
  for (uint32_t k = 0; k < list[0]; ++k) slots[k] = {plan->offsets[k], m.frames.scalars[list[1 + k]], pc[1]};
  return AfterList(list);
}

// ---- what older files have in place of slots ----

const uint32_t* HandlePlan(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 2;
  const MemoryPlan* plan = PlanFor(m, pc, PlanId{pc[1]}, list);
  if (plan == nullptr) return nullptr;
  const uint32_t* total = AfterList(list);
  m.frames.scalars[*total] = plan->total_bytes;
  const uint32_t* offsets = total + 1;
  for (uint32_t i = 0; i < offsets[0]; ++i) m.frames.scalars[offsets[1 + i]] = plan->offsets[i];
  return AfterList(offsets);
}

const uint32_t* HandleArena(Machine& m, const uint32_t* pc) {
  return MakeArena(m, pc, pc[1], 0, m.frames.scalars[pc[2]]) ? pc + 3 : nullptr;
}

const uint32_t* HandleArenaOn(Machine& m, const uint32_t* pc) {
  return MakeArena(m, pc, pc[1], pc[2], m.frames.scalars[pc[3]]) ? pc + 4 : nullptr;
}

// ---- slots ----

const uint32_t* HandleSlotPart(Machine& m, const uint32_t* pc) {
  const Slot& whole = m.frames.slots[pc[2]];
  const int64_t offset = m.frames.scalars[pc[3]], bytes = m.frames.scalars[pc[4]];
  if (offset < 0 || bytes < 0 || offset > whole.bytes || bytes > whole.bytes - offset) [[unlikely]] {
    m.FailOutside(pc, SlotOperand(pc[2]), offset, bytes, whole.bytes);
    return nullptr;
  }
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
