// What plans give: where values lie, and which memory they lie in.
#include <algorithm>

#include "vm/forecast/walk.h"

namespace tvmvm::forecast {
namespace {

uint32_t Register(const DecodedInstruction& instruction, size_t operand) {
  return static_cast<uint32_t>(instruction.operand(operand).value);
}

// More bytes than any memory has.
constexpr int64_t kFar = int64_t{1} << 48;

// What a plan gives whose values' sizes are set; `own`: the register of its memory.
// `is_among`: they may lie in other memory.
void PlanValues(const PlanSpec& spec, uint32_t own, bool is_among, bool is_bounded, Planned* planned) {
  const Earlier& earlier = planned->earlier;
  const size_t kept = spec.values.size() - planned->low.size();
  const PlanSpec apart{{spec.values.begin() + static_cast<int64_t>(kept), spec.values.end()}};
  planned->is_sure = planned->low == planned->high && is_bounded && (!is_among || earlier.is_known());
  MemoryPlan plan;
  if (is_bounded && !earlier.is_known()) {
    plan = PlanMemory(apart, planned->high);
    for (int64_t offset : plan.offsets) planned->places.push_back({own, offset});
  } else if (is_bounded) {
    std::vector<int64_t> numbers = earlier.sizes;
    auto add = [&numbers](const std::vector<int64_t>& more) {
      for (int64_t number : more) numbers.push_back(number);
    };
    add(planned->high);
    numbers.push_back(static_cast<int64_t>(kept));
    add(earlier.places);
    add(earlier.ends);
    plan = *PlanAmong(spec, numbers, {});
    for (size_t k = kept; k < plan.offsets.size(); ++k)
      planned->places.push_back(earlier.PlaceOf(plan.offsets[k], own));
  }
  planned->bytes = {plan.total_bytes, plan.total_bytes};
  planned->lower_bound = {plan.lower_bound, plan.lower_bound};
  if (!planned->is_sure)
    planned->bytes.low = planned->lower_bound.low = is_among ? 0 : LowerBound(apart, planned->low);
  if (!is_bounded) planned->bytes.high = planned->lower_bound.high = ByteRange::kUnbounded;
}

}  // namespace

SlotPlace Earlier::PlaceOf(int64_t place, uint32_t own) const {
  size_t k = 0;
  while (k < ends.size() && place >= ends[k]) ++k;
  return {k < ends.size() ? arenas[k] : own, place - Begin(k)};
}

void FunctionWalk::FindSlots() {
  origins_.resize(function_.slots);
  ForEachInstruction(function_.code, [this](const Instruction& instruction) {
    const Opcode opcode = instruction.info->opcode;
    if (opcode == Opcode::kSlotPart) {
      SlotOrigin& part = origins_[Register(instruction, 0)];
      part = origins_[Register(instruction, 1)];
      part.is_sure = false;
    } else if (opcode == Opcode::kSlotSwap) {
      const uint32_t a = Register(instruction, 0), b = Register(instruction, 1);
      origins_[a].is_swapped = origins_[b].is_swapped = true;
      swaps_.emplace_back(a, b);
    } else if (MakesSlots(opcode)) {
      for (uint32_t k = 0; k < SlotsSet(instruction); ++k) {
        SlotOrigin& origin = origins_[Register(instruction, 1) + k];
        const bool is_first = origin.word == UINT32_MAX && origin.is_sure;
        origin = {instruction.word, k, is_first, origin.is_swapped};
      }
    }
  });
}

Earlier FunctionWalk::FindEarlier(const Instruction& instruction, const State& state) const {
  Earlier earlier;
  const DecodedOperand& among = instruction.operand(5);
  for (size_t i = 0; i < among.list_size(); ++i) {
    const BufferOperand buffer = among.buffer(i);
    if (buffer.is_slot()) continue;
    const ByteRange bytes = journey_.objects[state.refs[buffer.index()].object].bytes;
    if (!bytes.is_exact() || bytes.low > kFar) return {};
    earlier.arenas.push_back(buffer.index());
    earlier.ends.push_back(earlier.Begin(earlier.ends.size()) + bytes.low);
  }
  std::vector<uint32_t> slots;
  for (size_t i = 0; i < among.list_size(); ++i) {
    if (!among.buffer(i).is_slot()) continue;
    slots.push_back(among.buffer(i).index());
    const SlotOrigin& origin = origins_[slots.back()];
    const auto planned = journey_.plans.find({context_, origin.word});
    if (!origin.is_sure || planned == journey_.plans.end() || !planned->second.is_sure) return {};
    const SlotPlace& place = planned->second.places[origin.number];
    const auto at = std::find(earlier.arenas.begin(), earlier.arenas.end(), place.arena);
    const bool is_there = at != earlier.arenas.end();
    earlier.sizes.push_back(is_there ? planned->second.high[origin.number] : 0);
    earlier.places.push_back(
        is_there ? earlier.Begin(static_cast<size_t>(at - earlier.arenas.begin())) + place.offset : 0);
  }
  // Where slots that change places with one another are alike, it does not matter whether they did.
  const std::vector<PlanSpec::Interval>& lives = journey_.program.plans[Register(instruction, 2)].values;
  for (const auto& [a, b] : swaps_) {
    const auto i = static_cast<size_t>(std::find(slots.begin(), slots.end(), a) - slots.begin());
    const auto k = static_cast<size_t>(std::find(slots.begin(), slots.end(), b) - slots.begin());
    if (i == slots.size() && k == slots.size()) continue;
    if (i == slots.size() || k == slots.size() || earlier.sizes[i] != earlier.sizes[k] ||
        lives[i].first != lives[k].first || lives[i].last != lives[k].last)
      return {};
  }
  return earlier;
}

Expected<const Planned*> FunctionWalk::PlanFor(const Instruction& instruction, const State& state,
                                               uint32_t plan, std::span<const uint32_t> sizes) {
  std::vector<int64_t> low, high;
  bool is_bounded = true;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const Interval& size = state.scalars[sizes[k]];
    if (size.high < 0 && state.share >= 1)
      return Fail(instruction, "value " + std::to_string(k) + " has " + std::to_string(size.high) + " bytes");
    low.push_back(std::max<int64_t>(size.low, 0));
    high.push_back(std::max<int64_t>(size.high, 0));
    is_bounded = is_bounded && size.high != INT64_MAX;
  }
  const bool makes_slots = MakesSlots(instruction.info->opcode);
  const uint32_t own = makes_slots ? Register(instruction, 0) : UINT32_MAX;
  const bool is_among = instruction.info->opcode == Opcode::kSlotsAmong;
  Earlier earlier;
  if (is_among) earlier = FindEarlier(instruction, state);
  Planned& planned = journey_.plans[{context_, instruction.word}];
  if (planned.low != low || planned.high != high || planned.earlier != earlier || planned.low.empty()) {
    journey_.work += static_cast<int64_t>(64 * (sizes.size() + earlier.sizes.size()));
    planned = {};
    planned.low = std::move(low);
    planned.high = std::move(high);
    planned.earlier = std::move(earlier);
    PlanValues(journey_.program.plans[plan], own, is_among, is_bounded, &planned);
  }
  if (journey_.is_recording) {
    const Place place = PlaceOf(instruction, state);
    if (!is_bounded) journey_.recorder.AddReason(place, "has values whose sizes only data tell");
    journey_.recorder.AddStage(place, plan, makes_slots ? Register(instruction, 3) : kHostDevice, own,
                               planned.low, planned.high, planned.places, planned.bytes, planned.lower_bound);
  }
  return &planned;
}

Expected<bool> FunctionWalk::FollowSlots(const Instruction& instruction, State* state) {
  TVMVM_TRY(const Planned* planned,
            PlanFor(instruction, *state, Register(instruction, 2), instruction.operand(4).list));
  TVMVM_CHECK_OK(
      MakeArena(instruction, state, Register(instruction, 0), Register(instruction, 3), planned->bytes));
  return true;
}

Status FunctionWalk::MakeArena(const Instruction& instruction, State* state, uint32_t reg, uint32_t device,
                               const ByteRange& bytes) {
  state->refs[reg] = {};  // what it held goes first
  const ObjectId made = Make(instruction, state, {bytes, device, false}, 0);
  NotePeak(state, made);
  state->refs[reg] = {made, nullptr};
  return {};
}

ObjectId FunctionWalk::ObjectOfSlot(const Instruction& instruction, const State& state, uint32_t slot) {
  const SlotOrigin& origin = origins_[slot];
  if (origin.word == UINT32_MAX) return kNoObject;
  const Instruction maker = *DecodeInstruction(function_.code, origin.word);
  const ObjectId own = state.refs[Register(maker, 0)].object;
  if (maker.info->opcode == Opcode::kSlots) return own;
  const auto planned = journey_.plans.find({context_, origin.word});
  if (planned != journey_.plans.end() && planned->second.is_sure && !origin.is_swapped)
    return state.refs[planned->second.places[origin.number].arena].object;
  Object either{{0, 0}, journey_.objects[own].device, false, {own}};
  for (size_t i = 0; i < maker.operand(5).list_size(); ++i)
    if (const BufferOperand buffer = maker.operand(5).buffer(i); buffer.is_register())
      either.one_of.push_back(state.refs[buffer.index()].object);
  for (ObjectId id : either.one_of)
    either.bytes.high = std::max(either.bytes.high, journey_.objects[id].bytes.high);
  const ObjectId made = journey_.objects.Find(ObjectTable::Kind::kOneOf, context_, instruction.word, 0);
  journey_.objects.Set(made, either);
  return made;
}

}  // namespace tvmvm::forecast
