// How control goes: blocks until nothing changes, then once more to record.
#include "vm/forecast/walk.h"

#include <algorithm>

namespace tvmvm::forecast {
namespace {

constexpr int kExactSweeps = 3;   // loops that turn so often at most are followed turn by turn
constexpr int kMostSweeps = 200;  // with ends that move only outwards, and only once
constexpr int kNarrowingSweeps = 2;
constexpr uint32_t kReturns = 0xffffffffu;  // in place of a block, where returns meet

}  // namespace

FunctionWalk::FunctionWalk(Journey* journey, FunctionId function, uint32_t context,
                           const FunctionWalk* caller, uint32_t entry_word)
    : journey_(*journey),
      function_(journey->program.function(function)),
      id_(function),
      context_(context),
      entry_word_(entry_word),
      caller_(caller),
      blocks_(BlocksOf(function_)),
      entries_(blocks_.size()),
      leaving_(blocks_.size()),
      returned_(blocks_.size()) {
  FindSlots();
}

tl::unexpected<Error> FunctionWalk::Fail(const Instruction& instruction, const std::string& what) const {
  std::string text = "@" + function_.name + ":" + std::to_string(instruction.word) + " " +
                     std::string(instruction.info->mnemonic) + ": " + what;
  if (std::string_view node = journey_.program.SourceNode(function_, instruction.word); !node.empty())
    text += " (node " + std::string(node) + ")";
  return MakeError(Code::kInvalidArgument, text);
}

Place FunctionWalk::PlaceOf(const Instruction& instruction, const State& state) const {
  return {id_, instruction.word, context_, caller_ == nullptr ? instruction.word : entry_word_,
          state.share >= 1};
}

Expected<std::optional<State>> FunctionWalk::Walk(const Arguments& arguments, const State& start) {
  const size_t registers = function_.scalar_registers + function_.ref_registers;
  has_loops_ =
      std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.is_loop_head; });
  if (has_loops_ && blocks_.size() * registers > (size_t{1} << 24))  // what is known at all of them is kept
    return MakeError(Code::kUnsupported, "@" + function_.name + " is too large to be followed: " +
                                             std::to_string(blocks_.size()) + " blocks with " +
                                             std::to_string(registers) + " registers");
  start_.emplace();
  start_->scalars.assign(function_.scalar_registers, kAnything);
  start_->refs.resize(function_.ref_registers);
  std::copy(arguments.scalars.begin(), arguments.scalars.end(), start_->scalars.begin());
  std::copy(arguments.refs.begin(), arguments.refs.end(), start_->refs.begin());
  start_->share = start.share;
  start_->least_peak = start.least_peak;

  const bool records = std::exchange(journey_.is_recording, false);
  bool is_stable = !has_loops_;
  for (int sweep = 0; has_loops_ && !is_stable; ++sweep) {
    if (sweep == kMostSweeps)
      return MakeError(Code::kUnsupported,
                       "the loops of @" + function_.name + " are too tangled to be followed");
    TVMVM_CHECK_OK(Sweep(sweep >= kExactSweeps, &is_stable));
  }
  for (int sweep = 0; has_loops_ && sweep < kNarrowingSweeps; ++sweep)
    TVMVM_CHECK_OK(Sweep(false, &is_stable));
  journey_.is_recording = records;
  TVMVM_CHECK_OK(Sweep(false, &is_stable));

  std::vector<const State*> from;
  for (const std::optional<State>& state : returned_)
    if (state) from.push_back(&*state);
  if (from.empty()) return std::optional<State>();
  return std::optional<State>(Join(from, context_, kReturns, &journey_.objects));
}

Status FunctionWalk::Sweep(bool widens, bool* is_stable) {
  *is_stable = true;
  (void)journey_.objects.TakeChanged();
  for (uint32_t number = 0; number < blocks_.size(); ++number) {
    std::vector<const State*> from;
    if (number == 0) from.push_back(&*start_);
    for (const auto& [block, is_target] : blocks_[number].from)
      if (const std::optional<State>& state = leaving_[block][is_target]) from.push_back(&*state);
    returned_[number].reset();
    if (from.empty()) {
      leaving_[number] = {};
      entries_[number].reset();
      continue;
    }
    State entry = Join(from, context_, number, &journey_.objects);
    leaving_[number] = {};  // a block that is its own loop was among those joined
    if (has_loops_) {
      std::optional<State>& before = entries_[number];
      if (widens && before && blocks_[number].is_loop_head) Widen(*before, &entry);
      if (!before || !SameKnowledge(*before, entry)) *is_stable = false;
      before = entry;
    } else {  // nobody comes back to look at what was joined
      for (const auto& [block, is_target] : blocks_[number].from) leaving_[block][is_target].reset();
    }
    TVMVM_CHECK_OK(Step(number, std::move(entry)));
  }
  if (journey_.objects.TakeChanged()) *is_stable = false;
  return {};
}

Status FunctionWalk::Step(uint32_t number, State state) {
  const Block& block = blocks_[number];
  journey_.work += static_cast<int64_t>(state.scalars.size() + state.refs.size());
  Opcode last = Opcode::kMove;
  uint32_t condition = 0;
  for (uint32_t word = block.begin; word < block.end;) {
    const Instruction instruction = *DecodeInstruction(function_.code, word);
    word += instruction.words;
    journey_.work += instruction.words;
    if (journey_.work > Journey::kMostWork)
      return MakeError(Code::kUnsupported, "the program is too large to be followed");
    last = instruction.info->opcode;
    if (last == Opcode::kBranchIf || last == Opcode::kBranchIfNot)
      condition = static_cast<uint32_t>(instruction.operand(0).value);
    TVMVM_TRY(const bool goes_on, Follow(instruction, &state));
    if (!goes_on) return {};
  }
  auto leave = [&](bool by_jump, State&& next) {
    // Turns of a loop do not make what is behind it less certain.
    const uint32_t to = by_jump ? block.target : block.next;
    if (to <= number) next.share = 0;
    leaving_[number][by_jump] = std::move(next);
  };
  if (last == Opcode::kReturn) {
    returned_[number] = std::move(state);
  } else if (last != Opcode::kBranchIf && last != Opcode::kBranchIfNot) {
    leave(last == Opcode::kJump, std::move(state));
  } else {
    const bool jumps_when = last == Opcode::kBranchIf;
    State jumps = state;
    const bool may_jump = jumps.Assume(condition, jumps_when);
    const bool may_fall = state.Assume(condition, !jumps_when);
    if (may_jump && may_fall && block.target > number) jumps.share = state.share = state.share / 2;
    if (may_jump) leave(true, std::move(jumps));
    if (may_fall) leave(false, std::move(state));
  }
  return {};
}

// Of the tensors that the instruction names.
void FunctionWalk::NoteUses(const Instruction& instruction, const State& state) {
  const Place place = PlaceOf(instruction, state);
  auto use = [&](uint32_t reg) { journey_.recorder.Use(place, state.refs[reg].object); };
  for (const DecodedOperand& operand : instruction.operands()) {
    if (operand.kind == OperandKind::kRefSrc) use(static_cast<uint32_t>(operand.value));
    if (operand.kind == OperandKind::kRefList) std::for_each(operand.list.begin(), operand.list.end(), use);
    for (size_t i = 0; operand.kind == OperandKind::kBufferList && i < operand.list_size(); ++i)
      if (operand.buffer(i).is_register()) use(operand.buffer(i).index());
  }
}

Expected<bool> FunctionWalk::Follow(const Instruction& instruction, State* state) {
  if (journey_.is_recording) NoteUses(instruction, *state);
  switch (instruction.info->opcode) {
    case Opcode::kJump:
    case Opcode::kBranchIf:
    case Opcode::kBranchIfNot:
      return true;
    case Opcode::kReturn:
      FollowReturn(instruction, state);
      return true;
    case Opcode::kCall:
      return FollowCall(instruction, state);
    case Opcode::kGuard:
      return FollowGuard(instruction, state);
    case Opcode::kLaunch:
      FollowLaunch(instruction, *state);
      return true;
    case Opcode::kHostCall:
      FollowHost(instruction, state);
      return true;
    default:
      break;
  }
  const auto operands = instruction.operands();
  const bool is_scalar = instruction.info->effect == Effect::kPure && !operands.empty() &&
                         operands[0].kind == OperandKind::kScalarDst &&
                         instruction.info->opcode != Opcode::kDim &&
                         instruction.info->opcode != Opcode::kRank;
  return is_scalar ? FollowScalar(instruction, state) : FollowReference(instruction, state);
}

Expected<bool> FunctionWalk::FollowGuard(const Instruction& instruction, State* state) {
  if (state->Assume(static_cast<uint32_t>(instruction.operand(0).value), true)) return true;
  if (state->share < 1) return false;
  const std::string& message = journey_.program.strings[static_cast<size_t>(instruction.operand(1).value)];
  const std::span<const uint32_t> list = instruction.operand(2).list;
  std::string text;
  for (size_t i = 0; i < message.size(); ++i) {
    const size_t number = i + 2 < message.size() && message[i] == '{' && message[i + 2] == '}'
                              ? static_cast<size_t>(message[i + 1] - '0')
                              : list.size();
    if (number >= list.size()) {
      text += message[i];
      continue;
    }
    const Interval& value = state->scalars[list[number]];
    text += value.is_exact() ? std::to_string(value.low) : "(what data say)";
    i += 2;
  }
  return Fail(instruction, text);
}

Expected<bool> FunctionWalk::FollowCall(const Instruction& instruction, State* state) {
  const FunctionId callee{static_cast<uint32_t>(instruction.operand(0).value)};
  const std::span<const uint32_t> scalar_results = instruction.operand(3).list,
                                  ref_results = instruction.operand(4).list;
  bool is_recursive = callee == id_;
  for (const FunctionWalk* walk = caller_; walk != nullptr; walk = walk->caller_)
    is_recursive = is_recursive || walk->id_ == callee;
  if (is_recursive) {
    const Object object{{0, ByteRange::kUnbounded}, kHostDevice, false};
    journey_.recorder.AddReason(PlaceOf(instruction, *state), "calls itself, as deep as data say");
    const ObjectId made = Make(instruction, state, object, 0);
    NotePeak(state, made);
    for (uint32_t reg : scalar_results) state->SetScalar(reg, kAnything);
    for (uint32_t reg : ref_results) state->refs[reg] = {made, nullptr};
    return true;
  }
  Arguments arguments;
  for (uint32_t reg : instruction.operand(1).list) arguments.scalars.push_back(state->scalars[reg]);
  for (uint32_t reg : instruction.operand(2).list) arguments.refs.push_back(state->refs[reg]);
  const auto next = static_cast<uint32_t>(journey_.contexts.size() + 1);
  const uint32_t context = journey_.contexts.try_emplace({context_, instruction.word}, next).first->second;
  FunctionWalk walk(&journey_, callee, context, this, caller_ == nullptr ? instruction.word : entry_word_);
  current_ = state;
  TVMVM_TRY(const std::optional<State> left, walk.Walk(arguments, *state));
  current_ = nullptr;
  if (!left) return false;
  for (size_t i = 0; i < scalar_results.size(); ++i) state->SetScalar(scalar_results[i], left->scalars[i]);
  for (size_t i = 0; i < ref_results.size(); ++i) state->refs[ref_results[i]] = left->refs[i];
  state->least_peak = left->least_peak;
  return true;
}

// Leaves the results in place of the registers.
void FunctionWalk::FollowReturn(const Instruction& instruction, State* state) {
  State results;
  results.share = state->share;
  for (uint32_t reg : instruction.operand(0).list) results.scalars.push_back(state->scalars[reg]);
  for (uint32_t reg : instruction.operand(1).list) results.refs.push_back(state->refs[reg]);
  if (caller_ == nullptr) {
    NotePeak(state, kNoObject);
    // What the program alone holds is handed out; the rest is copied, one result after another.
    std::vector<ObjectId> gone;
    for (size_t k = 0; k < results.refs.size(); ++k) {
      const Ref& ref = results.refs[k];
      const TypeSpec& type = function_.outputs[k].type;
      const bool is_handed_out = journey_.objects[ref.object].is_tensor &&
                                 std::find(gone.begin(), gone.end(), ref.object) == gone.end();
      if (is_handed_out) gone.push_back(ref.object);
      const bool is_tensor = type.kind == ValueKind::kTensor || type.kind == ValueKind::kOptional;
      if (is_handed_out || !is_tensor || type.dtype == DType::kString) continue;
      if (!ref.dims || type.kind == ValueKind::kOptional) {
        journey_.recorder.AddReason(
            PlaceOf(instruction, *state),
            "gives output '" + function_.outputs[k].name + "' as a copy, whose size only data tell");
        NotePeak(state, kNoObject, {0, ByteRange::kUnbounded}, gone);
        continue;
      }
      const Interval elements = CountOf(*ref.dims);
      const ByteRange bytes{DTypeBytes(type.dtype, elements.low), DTypeBytes(type.dtype, elements.high)};
      NotePeak(state, kNoObject, bytes, gone);
    }
  }
  results.least_peak = state->least_peak;
  *state = std::move(results);
}

ObjectId FunctionWalk::Make(const Instruction& instruction, State* state, const Object& object,
                            uint32_t number) {
  ObjectTable& objects = journey_.objects;
  const ObjectId made = objects.Find(ObjectTable::Kind::kMade, context_, instruction.word, number);
  if (state->Holds(made)) {  // of an earlier turn
    const ObjectId before = objects.Find(ObjectTable::Kind::kBefore, context_, instruction.word, number);
    Object old = objects[made];
    if (state->Holds(before)) {
      old.bytes.high = old.bytes.high > 0 ? ByteRange::kUnbounded : 0;
      journey_.recorder.AddReason(PlaceOf(instruction, *state),
                                  "is held from one turn of a loop to the next");
    }
    objects.Set(before, old);
    state->Replace(made, before);
    objects.Rename(made, before);
  }
  objects.Set(made, object);
  return made;
}

void FunctionWalk::NotePeak(State* state, ObjectId added, ByteRange more, const std::vector<ObjectId>& gone) {
  std::vector<ObjectId> held = {added};
  auto add = [&](const State& from) {
    for (const Ref& ref : from.refs) held.push_back(ref.object);
    journey_.work += static_cast<int64_t>(from.refs.size());
  };
  add(*state);
  for (const FunctionWalk* walk = caller_; walk != nullptr; walk = walk->caller_) add(*walk->current_);
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  std::vector<int64_t> least(state->least_peak.size(), 0), most(least);
  auto count = [&](const ByteRange& bytes, uint32_t device) {
    for (size_t i : {size_t{0}, size_t{device} + 1}) {
      least[i] = AddSizes(least[i], bytes.low);
      most[i] = AddSizes(most[i], bytes.high);
    }
  };
  for (ObjectId id : held) {
    if (id == kNoObject || std::find(gone.begin(), gone.end(), id) != gone.end()) continue;
    const Object& object = journey_.objects[id];
    ByteRange bytes = object.bytes;
    // Only what nothing else holds counts.
    if (!object.one_of.empty()) bytes = {0, 0};
    for (ObjectId one : object.one_of)
      if (!std::binary_search(held.begin(), held.end(), one))
        bytes.high = std::max(bytes.high, journey_.objects[one].bytes.high);
    count(bytes, object.device);
  }
  count(more, kHostDevice);
  for (size_t i = 0; i < least.size(); ++i) state->least_peak[i] = std::max(state->least_peak[i], least[i]);
  if (journey_.is_recording) journey_.recorder.AddPeak(most);
}

}  // namespace tvmvm::forecast
