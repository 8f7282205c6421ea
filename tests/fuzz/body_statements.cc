// The statements of a body that compute, make and use memory, or call.
#include <algorithm>
#include <array>
#include <bit>

#include "bytecode/output_operand.h"
#include "tests/fuzz/body_maker.h"
#include "tests/fuzz/body_registers.h"

namespace tvmvm::fuzz {
namespace {

using enum OperandKind;

constexpr double kTellingFloats[] = {0.0, -0.0, 0.5, 1e300, -1e300, 1.0 / 3};

}  // namespace

// ---- numbers ----

void BodyMaker::Arithmetic() {
  static_assert(static_cast<int>(Opcode::kNot) - static_cast<int>(Opcode::kAdd) == 14);
  const auto opcode = static_cast<Opcode>(static_cast<uint32_t>(Opcode::kAdd) + choices_.Below(14));
  const bool is_small = opcode >= Opcode::kEqual && opcode <= Opcode::kLessEqual;
  const bool is_wild = choices_.OneIn(6);  // overflows and divisions by zero end the run
  const ScalarReg a = is_wild || is_small ? Number() : Small();
  const ScalarReg b = is_wild ? Number() : body_.Immediate(1 + choices_.Below(8));
  body_.Emit(opcode, {Dst(NewNumber(is_small)), Src(a), Src(b)});
}

void BodyMaker::SmallNumber() {
  if (choices_.OneIn(4)) {
    const ScalarReg a = Number(), limit = body_.Immediate(1 + choices_.Below(8));
    return body_.Emit(Opcode::kFloorMod, {Dst(NewNumber(true)), Src(a), Src(limit)});
  }
  if (choices_.OneIn(4)) {
    const ScalarReg a = Number();
    return body_.Emit(Opcode::kNot, {Dst(NewNumber(true)), Src(a)});
  }
  if (choices_.OneIn(3)) {
    const ScalarReg a = Number(), b = Small(), c = Small();
    return body_.Emit(Opcode::kSelect, {Dst(NewNumber(true)), Src(a), Src(b), Src(c)});
  }
  const ScalarReg a = Small();
  if (choices_.OneIn(2)) return body_.Emit(Opcode::kMove, {Dst(NewNumber(true)), Src(a)});
  body_.Emit(Opcode::kConstant64, {Dst(NewNumber(true)), {kImmediate, choices_.Below(9)}});
}

void BodyMaker::FloatNumber() {
  const auto bits = std::bit_cast<int64_t>(kTellingFloats[choices_.Below(std::size(kTellingFloats))]);
  const ScalarReg a = Number(), b = choices_.OneIn(2) ? body_.Immediate(bits) : Number();
  switch (choices_.Below(3)) {
    case 0:
      return body_.Emit(Opcode::kIntToF64, {Dst(NewNumber(false)), Src(a)});
    case 1:
      return body_.Emit(Opcode::kF64ToInt, {Dst(NewNumber(false)), Src(b)});
    default:
      const auto opcode = static_cast<Opcode>(static_cast<uint32_t>(Opcode::kAddF64) + choices_.Below(5));
      return body_.Emit(opcode, {Dst(NewNumber(false)), Src(a), Src(b)});
  }
}

void BodyMaker::AskDims() {
  const RefReg tensor = Held(choices_.OneIn(4) ? Holds::kStrings : Holds::kTensor);
  if (choices_.OneIn(2)) return body_.Emit(Opcode::kRank, {Dst(NewNumber(true)), Src(tensor)});
  body_.Emit(Opcode::kDim, {Dst(NewNumber(true)), Src(tensor), {kIndex, choices_.OneIn(8) ? 31 : 0}});
}

void BodyMaker::LoadNumber() {
  const RefReg from = Room(Queue(), false);
  const DType dtype = choices_.OneIn(4) ? ElementType() : references_[from.index].dtype;
  const ScalarReg offset = choices_.OneIn(3) ? Small() : body_.Immediate(0);
  const bool fits =
      dtype != DType::kString && !IsComplex(dtype) && !IsSubByte(dtype) && dtype != DType::kInvalid;
  body_.Emit(Opcode::kLoad, {Dst(NewNumber(false)), Src(from), Src(offset), Type(fits ? dtype : DType::kU8)});
}

void BodyMaker::StoreNumber() {
  const RefReg to = Room(Queue(), true);
  const ScalarReg offset = choices_.OneIn(3) ? Small() : body_.Immediate(0), value = Small();
  body_.Emit(Opcode::kStore, {Src(to), Src(offset), Type(ElementType()), Src(value)});
}

// ---- memory ----

void BodyMaker::MakeTensor() {
  const DType dtype = AnyType();
  int64_t elements = 0;
  const std::vector<uint32_t> dims = Dims(&elements);
  const uint32_t queue = dtype == DType::kString ? kHostDevice : Queue();
  const RefReg to = NewReference({dtype == DType::kString ? Holds::kStrings : Holds::kTensor, dtype, queue,
                                  DTypeBytes(dtype, elements)});
  if (queue == kHostDevice) return body_.Emit(Opcode::kAllocate, {Dst(to), Type(dtype), {kScalarList, dims}});
  body_.Emit(Opcode::kAllocateOn, {Dst(to), {kIndex, queue}, Type(dtype), {kScalarList, dims}});
}

void BodyMaker::MakeArena() {
  const int64_t size = choices_.OneIn(4) ? 0 : choices_.Below(300);
  const ScalarReg bytes = size == 0 ? Small() : body_.Immediate(size);
  const uint32_t queue = Queue();
  const RefReg to = NewReference({Holds::kBuffer, DType::kU8, queue, size});
  if (queue == kHostDevice && choices_.OneIn(2)) return body_.Emit(Opcode::kArena, {Dst(to), Src(bytes)});
  body_.Emit(Opcode::kArenaOn, {Dst(to), {kIndex, queue}, Src(bytes)});
}

void BodyMaker::MakeView() {
  const RefReg from = Room(Queue(), false);
  const DType dtype = choices_.OneIn(3) ? AnyType() : references_[from.index].dtype;
  const DType shown = dtype == DType::kInvalid ? DType::kU8 : dtype;
  int64_t elements = 0;
  const std::vector<uint32_t> dims = Dims(&elements);
  const ScalarReg offset = choices_.OneIn(12) ? Small() : body_.Immediate(choices_.OneIn(3) ? 8 : 0);
  Reference view = references_[from.index];
  view.holds = shown == DType::kString ? Holds::kStrings : Holds::kTensor;
  view.dtype = shown;
  view.bytes = DTypeBytes(shown, elements);
  const RefReg to = NewReference(view);
  body_.Emit(Opcode::kView, {Dst(to), Src(from), Src(offset), Type(shown), {kScalarList, dims}});
}

void BodyMaker::TakeConstant() {
  const uint32_t constant = choices_.Below(tables_.constants.size());
  const DType dtype = tables_.constants[constant].dtype;
  const auto bytes = static_cast<int64_t>(tables_.constants[constant].bytes.size());
  const RefReg to = NewReference(
      {dtype == DType::kString ? Holds::kStrings : Holds::kTensor, dtype, kHostDevice, bytes, true});
  body_.Emit(Opcode::kLoadConstant, {Dst(to), {kConstant, constant}});
}

void BodyMaker::MoveReference() {
  const RefReg from = AnyRef();
  if (choices_.OneIn(4)) return body_.Emit(Opcode::kRelease, {Dst(NewReference({}))});
  const Reference held = references_[from.index];
  body_.Emit(Opcode::kMoveRef, {Dst(NewReference(held)), Src(from)});
}

void BodyMaker::PlanAndArena() {
  const uint32_t plan = choices_.Below(tables_.plan_values.size());
  std::vector<uint32_t> sizes(tables_.plan_values[plan]), offsets(sizes.size());
  for (uint32_t& size : sizes) size = Small().index;
  const ScalarReg total = NewNumber(true);
  for (uint32_t& offset : offsets) offset = NewNumber(true).index;
  body_.Emit(Opcode::kPlan, {{kPlan, plan}, {kScalarList, sizes}, Dst(total), {kScalarDstList, offsets}});
  body_.Emit(Opcode::kArena, {Dst(NewReference({Holds::kBuffer, DType::kU8})), Src(total)});
}

void BodyMaker::MakeSlots() {
  const uint32_t plan = choices_.Below(tables_.plan_values.size());
  const uint32_t queue = Queue();
  std::vector<BufferOperand> among;
  if (choices_.OneIn(3)) among = Among(queue, tables_.plan_values[plan] - 1);
  const auto kept = static_cast<size_t>(
      std::count_if(among.begin(), among.end(), [](BufferOperand there) { return there.is_slot(); }));
  std::vector<ScalarReg> sizes(tables_.plan_values[plan] - kept);
  for (ScalarReg& size : sizes)
    size = choices_.OneIn(6) ? Small() : body_.Immediate(16 + 8 * choices_.Below(12));
  RefReg arena;
  const SlotReg first = among.empty() ? body_.Slots(PlanId{plan}, sizes, queue, &arena)
                                      : body_.SlotsAmong(PlanId{plan}, sizes, queue, among, &arena);
  Mark(&assigned_.refs, arena.index);
  if (references_.size() <= arena.index) references_.resize(arena.index + 1);
  references_[arena.index] = {Holds::kBuffer, DType::kU8, queue};
  slot_devices_.resize(std::max<size_t>(slot_devices_.size(), first.index + sizes.size()), queue);
  for (uint32_t k = 0; k < sizes.size(); ++k) Mark(&assigned_.slots, first.index + k);
}

void BodyMaker::ChangeSlots() {
  if (!HasSlot()) return MakeSlots();
  const SlotReg a = Slot(), b = Slot();
  if (choices_.OneIn(2)) return body_.SlotSwap(a, b);
  const SlotReg part = choices_.OneIn(3) ? b : body_.NewSlot();
  const ScalarReg offset = Small(), bytes = Small();
  body_.SlotPart(part, a, offset, bytes);
  Mark(&assigned_.slots, part.index);
  if (slot_devices_.size() <= part.index) slot_devices_.resize(part.index + 1);
  slot_devices_[part.index] = slot_devices_[a.index];
}

void BodyMaker::UseSlot() {
  if (!HasSlot()) return MakeSlots();
  const BufferOperand slot = SlotOperand(Slot().index, Small().index);
  const uint32_t device = slot_devices_[slot.index()];
  if (choices_.OneIn(3)) return body_.Store(slot, ElementType(), Small());
  if (choices_.OneIn(2)) {
    const DType dtype = ElementType();
    return body_.Emit(
        Opcode::kSlotLoad,
        {Dst(NewNumber(false)), {kSlotSrc, slot.index()}, {kScalarSrc, slot.offset}, Type(dtype)});
  }
  const DType dtype = AnyType();
  int64_t elements = 0;
  const std::vector<uint32_t> dims = Dims(&elements);
  const RefReg to = NewReference({dtype == DType::kString ? Holds::kStrings : Holds::kTensor, dtype, device,
                                  DTypeBytes(dtype, elements)});
  body_.Emit(
      Opcode::kSlotView,
      {Dst(to), {kSlotSrc, slot.index()}, {kScalarSrc, slot.offset}, Type(dtype), {kScalarList, dims}});
}

void BodyMaker::StandIn() {
  if (!HasSlot()) return MakeSlots();
  const bool is_input = choices_.OneIn(2);
  const std::vector<ParameterSpec>& parameters = is_input ? spec_.inputs : spec_.outputs;
  for (uint32_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].type.kind != ValueKind::kTensor || choices_.OneIn(3)) continue;
    return body_.Emit(is_input ? Opcode::kSlotInput : Opcode::kSlotOutput,
                      {{kSlotSrc, Slot().index}, {kIndex, i}});
  }
}

// ---- work ----

void BodyMaker::CopyOrFill() {
  const BufferOperand to = Memory(Queue(), true);
  const ScalarReg bytes = Small();
  if (choices_.OneIn(3))
    return body_.Emit(Opcode::kFill,
                      {{kBufferList, {to.base, to.offset}}, Src(bytes), {kIndex, choices_.Below(256)}});
  body_.Copy(to, Memory(Queue(), false), bytes);
}

void BodyMaker::LaunchKernel() {
  const uint32_t number = choices_.Below(tables_.kernels.size());
  const KernelSpec& kernel = tables_.kernels[number];
  uint32_t queue = kHostDevice;
  if (kernel.device == DeviceClass::kGpu) {
    if (!tables_.uses_devices[function_]) return;
    queue = 1 + choices_.Below(tables_.devices - 1);
  }
  FunctionBuilder::LaunchShape shape;
  for (ScalarReg& axis : shape.grid) axis = Small();
  if (choices_.OneIn(2)) shape.cost = {Small(), Small(), Small()};
  std::vector<ScalarReg> scalars(kernel.scalar_count);
  for (ScalarReg& scalar : scalars) scalar = Number();
  std::vector<BufferOperand> buffers;
  for (Access access : kernel.buffers) buffers.push_back(Memory(queue, IsWritten(access)));
  body_.Launch(KernelId{number}, queue, shape, scalars, buffers);
}

void BodyMaker::WaitOrTrace() {
  if (choices_.OneIn(2)) return body_.Emit(Opcode::kWait, {{kIndex, Queue()}});
  const ScalarReg a = Number();
  body_.Trace(choices_.OneIn(2) ? "{0} {1} {9999999999999} {" : "plain", std::array{a});
}

void BodyMaker::CheckGuard() {
  ScalarReg condition = body_.Immediate(1);
  if (choices_.OneIn(4)) condition = Number();
  body_.Guard(condition, "found {0}, {1}, {2}", std::array{Number(), Number()});
}

void BodyMaker::CallFunction() {
  const uint32_t number = choices_.Below(tables_.functions.size());
  if (tables_.uses_devices[number] && !tables_.uses_devices[function_]) return;
  if (number <= function_ && !choices_.OneIn(10)) return;  // one that may come back here
  const FunctionSpec& callee = tables_.functions[number];
  std::vector<uint32_t> scalars(callee.scalar_inputs), refs, results(callee.scalar_outputs), held;
  for (uint32_t& scalar : scalars) scalar = Small().index;
  for (const ParameterSpec& input : callee.inputs)
    refs.push_back(choices_.OneIn(4) ? AnyRef().index : ValueOf(input.type, 0).index);
  for (uint32_t& result : results) result = NewNumber(false).index;
  for (const ParameterSpec& output : callee.outputs)
    held.push_back(NewReference({Holds::kAnything, output.type.dtype}).index);
  body_.Emit(Opcode::kCall, {{kFunction, number},
                             {kScalarList, scalars},
                             {kRefList, refs},
                             {kScalarDstList, results},
                             {kRefDstList, held}});
}

void BodyMaker::CallHost() {
  const std::span<const HostSignature> library = HostSignatures();
  const uint32_t number = choices_.Below(library.size());
  const HostSignature& function = library[number];
  const std::string_view name = function.name;
  const auto count_of = [&](uint32_t wanted) {
    return wanted == HostSignature::kAny ? choices_.Below(4) : wanted;
  };
  std::vector<uint32_t> scalars(count_of(function.scalars)), refs(count_of(function.refs));
  std::vector<uint32_t> results(count_of(function.scalar_results));
  for (uint32_t& scalar : scalars)
    scalar = choices_.OneIn(4) ? body_.Immediate(static_cast<int64_t>(choices_.Below(40)) - 3).index
                               : Small().index;
  const auto begins = [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; };
  for (size_t i = 0; i < refs.size(); ++i) {
    Holds wanted = Holds::kTensor;
    if (begins("string.") && (i > 0 || name != "string.take") && name != "string.from_numbers")
      wanted = Holds::kStrings;
    if (begins("sequence.") && i == 0 && name != "sequence.split" && name != "sequence.construct")
      wanted = Holds::kSequence;
    if (begins("tuple.") && name != "tuple.make") wanted = Holds::kTuple;
    if (begins("buffer.")) wanted = Holds::kBuffer;
    refs[i] = choices_.OneIn(8) ? AnyRef().index : Held(wanted).index;
  }
  for (uint32_t& result : results) result = NewNumber(true).index;
  Holds holds = Holds::kAnything;
  if (begins("tensor.") || name == "unique" || name == "sequence.concat") holds = Holds::kTensor;
  if (begins("string."))
    holds = name == "string.ids" || name == "string.match" ? Holds::kTensor : Holds::kStrings;
  if (begins("sequence.") && name != "sequence.at" && name != "sequence.concat") holds = Holds::kSequence;
  if (name == "tuple.make") holds = Holds::kTuple;
  if (begins("buffer.")) holds = Holds::kBuffer;
  std::vector<uint32_t> held(function.ref_results == HostSignature::kAny ? refs.size()
                                                                         : function.ref_results);
  for (uint32_t& result : held) result = NewReference({holds, ElementType()}).index;
  body_.Emit(Opcode::kHostCall, {{kIndex, number},
                                 {kScalarList, scalars},
                                 {kRefList, refs},
                                 {kScalarDstList, results},
                                 {kRefDstList, held}});
}

void BodyMaker::MakeOutput() {
  if (spec_.outputs.empty()) return;
  OutputOperand operand;
  operand.output = choices_.Below(spec_.outputs.size());
  const TypeSpec& type = spec_.outputs[operand.output].type;
  if (type.kind != ValueKind::kTensor) return;
  for (uint32_t i = 0; i < spec_.inputs.size() && type.dtype != DType::kString; ++i)
    if (spec_.inputs[i].type.kind == ValueKind::kTensor && spec_.inputs[i].type.dtype == type.dtype &&
        choices_.OneIn(4))
      operand.donor = i;
  int64_t elements = 0;
  const std::vector<uint32_t> dims = Dims(&elements);
  const RefReg to = NewReference({type.dtype == DType::kString ? Holds::kStrings : Holds::kTensor, type.dtype,
                                  kHostDevice, DTypeBytes(type.dtype, elements)});
  body_.Emit(Opcode::kOutput, {Dst(to), {kIndex, *operand.word(spec_.outputs.size())}, {kScalarList, dims}});
}

}  // namespace tvmvm::fuzz
