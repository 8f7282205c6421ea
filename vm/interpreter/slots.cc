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

// The listed sizes, copied to `to`; false after Fail.
bool GatherSizes(Machine& m, const uint32_t* pc, const uint32_t* list, int64_t* to) {
  const std::span<const int64_t> sizes = m.frames.Gather(list, to);
  for (size_t k = 0; k < sizes.size(); ++k)
    if (sizes[k] < 0) {
      m.run.Fail(pc, Code::kInvalidArgument,
                 "value " + std::to_string(k) + " has " + std::to_string(sizes[k]) + " bytes");
      return false;
    }
  return true;
}

// The plan for so many of the machine's numbers; null after Fail.
const MemoryPlan* PlanFor(Machine& m, const uint32_t* pc, PlanId id, size_t count) {
  const MemoryPlan* plan = m.memory.plans.Get(id, {m.numbers.data(), count}, &m.run);
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
  if (!GatherSizes(m, pc, list, m.numbers.data())) return nullptr;
  const MemoryPlan* plan = PlanFor(m, pc, PlanId{pc[3]}, list[0]);
  if (plan == nullptr || !MakeArena(m, pc, pc[1], pc[4], plan->total_bytes)) return nullptr;
  Slot* slots = m.frames.slots + pc[2];
  for (uint32_t k = 0; k < list[0]; ++k) slots[k] = {plan->offsets[k], m.frames.scalars[list[1 + k]], pc[1]};
  return AfterList(list);
}

namespace {

// The buffers and slots that slots.among lists.
class Among {
 public:
  explicit Among(const uint32_t* list) : list_(list) {
    for (uint32_t i = 0; i < list[0]; ++i) kept_ += At(i).is_slot() ? 1 : 0;
  }
  uint32_t kept() const { return kept_; }
  uint32_t arenas() const { return list_[0] - kept_; }
  BufferOperand At(uint32_t i) const { return {list_[1 + 2 * i], list_[2 + 2 * i]}; }
  const uint32_t* after() const { return list_ + 1 + 2 * list_[0]; }

  // Where the registers' buffers end in their row; false after Fail.
  bool FindEnds(Machine& m, const uint32_t* pc, int64_t* ends) const {
    int64_t begin = 0;
    for (uint32_t i = 0; i < list_[0]; ++i) {
      if (At(i).is_slot()) continue;
      const Object* object = m.frames.refs[At(i).base];
      const auto* buffer = object != nullptr && object->kind == ObjectKind::kBuffer
                               ? static_cast<const Buffer*>(object)
                               : nullptr;
      if (buffer == nullptr || buffer->device != pc[4]) {
        m.run.Fail(pc, Code::kInvalidProgram,
                   "r" + std::to_string(At(i).base) + " holds no memory of queue " + std::to_string(pc[4]));
        return false;
      }
      *ends = begin + buffer->bytes;
      begin = ArenaBehind(*ends++);
    }
    return true;
  }

  // Where the register's buffer begins; -1: it is not listed.
  int64_t BeginOf(uint32_t reg, const int64_t* ends) const {
    int64_t begin = 0;
    for (uint32_t i = 0; i < list_[0]; ++i) {
      if (At(i).is_slot()) continue;
      if (At(i).base == reg) return begin;
      begin = ArenaBehind(*ends++);
    }
    return -1;
  }

  // What lies there, of `bytes` bytes; what lies behind all is `own`'s.
  Slot SlotAt(int64_t place, int64_t bytes, uint32_t own, const int64_t* ends) const {
    int64_t begin = 0;
    for (uint32_t i = 0; i < list_[0]; ++i) {
      if (At(i).is_slot()) continue;
      if (place < *ends) return {place - begin, bytes, At(i).base};
      begin = ArenaBehind(*ends++);
    }
    return {place - begin, bytes, own};
  }

 private:
  const uint32_t* list_;
  uint32_t kept_ = 0;
};

}  // namespace

const uint32_t* HandleSlotsAmong(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 5;
  const Among among(AfterList(list));
  const uint32_t kept = among.kept(), values = kept + list[0];
  int64_t *sizes = m.numbers.data(), *places = sizes + values + 1, *ends = places + kept;
  if (!GatherSizes(m, pc, list, sizes + kept) || !among.FindEnds(m, pc, ends)) return nullptr;
  sizes[values] = kept;
  for (uint32_t i = 0, k = 0; k < kept; ++i) {
    if (!among.At(i).is_slot()) continue;
    // Memory that a caller's tensor stands in for is free.
    const Slot& slot = m.frames.slots[among.At(i).index()];
    const int64_t begin = slot.stand_in == nullptr ? among.BeginOf(slot.arena, ends) : -1;
    places[k] = begin < 0 ? 0 : begin + slot.offset;
    sizes[k++] = begin < 0 ? 0 : slot.bytes;
  }
  const size_t numbers = size_t{2} * kept + list[0] + 1 + among.arenas();
  const MemoryPlan* plan = PlanFor(m, pc, PlanId{pc[3]}, numbers);
  if (plan == nullptr || !MakeArena(m, pc, pc[1], pc[4], plan->total_bytes)) return nullptr;
  Slot* slots = m.frames.slots + pc[2];
  for (uint32_t k = 0; k < list[0]; ++k)
    slots[k] = among.SlotAt(plan->offsets[kept + k], sizes[kept + k], pc[1], ends);
  return among.after();
}

// ---- what older files have in place of slots ----

const uint32_t* HandlePlan(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 2;
  if (!GatherSizes(m, pc, list, m.numbers.data())) return nullptr;
  const MemoryPlan* plan = PlanFor(m, pc, PlanId{pc[1]}, list[0]);
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
