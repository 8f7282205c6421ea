#include "tests/fuzz/body_maker.h"

#include <algorithm>
#include <array>
#include <bit>

#include "bytecode/output_operand.h"

namespace tvmvm::fuzz {
namespace {

using enum OperandKind;

Operand Dst(ScalarReg reg) { return {kScalarDst, reg.index}; }
Operand Src(ScalarReg reg) { return {kScalarSrc, reg.index}; }
Operand Dst(RefReg reg) { return {kRefDst, reg.index}; }
Operand Src(RefReg reg) { return {kRefSrc, reg.index}; }
Operand Type(DType dtype) { return {kDType, static_cast<int64_t>(dtype)}; }

void Mark(std::vector<bool>* bits, size_t index) {
  if (bits->size() <= index) bits->resize(index + 1);
  (*bits)[index] = true;
}

void IntersectBits(std::vector<bool>* bits, const std::vector<bool>& other) {
  for (size_t i = 0; i < bits->size(); ++i) (*bits)[i] = (*bits)[i] && i < other.size() && other[i];
}

bool CoversBits(const std::vector<bool>& bits, const std::vector<bool>& other) {
  for (size_t i = 0; i < other.size(); ++i)
    if (other[i] && !(i < bits.size() && bits[i])) return false;
  return true;
}

std::vector<uint32_t> SetBits(const std::vector<bool>& bits) {
  std::vector<uint32_t> indices;
  for (size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) indices.push_back(static_cast<uint32_t>(i));
  return indices;
}

constexpr int64_t kTelling[] = {-1,      0,         1,         2,         63,        64,        4096,
                                1 << 20, INT64_MAX, INT64_MIN, 1LL << 32, 1LL << 62, -1LL << 32};
constexpr double kTellingFloats[] = {0.0, -0.0, 0.5, 1e300, -1e300, 1.0 / 3};

}  // namespace

void Assigned::Intersect(const Assigned& other) {
  IntersectBits(&scalars, other.scalars);
  IntersectBits(&refs, other.refs);
  IntersectBits(&slots, other.slots);
}

bool Assigned::Covers(const Assigned& other) const {
  return CoversBits(scalars, other.scalars) && CoversBits(refs, other.refs) && CoversBits(slots, other.slots);
}

const BodyMaker::Statement BodyMaker::kStatements[] = {
    {6, &BodyMaker::Arithmetic},   {4, &BodyMaker::SmallNumber},   {1, &BodyMaker::FloatNumber},
    {2, &BodyMaker::AskDims},      {4, &BodyMaker::LoadNumber},    {4, &BodyMaker::StoreNumber},
    {5, &BodyMaker::MakeTensor},   {2, &BodyMaker::MakeArena},     {4, &BodyMaker::MakeView},
    {2, &BodyMaker::TakeConstant}, {2, &BodyMaker::MoveReference}, {1, &BodyMaker::PlanAndArena},
    {3, &BodyMaker::MakeSlots},    {2, &BodyMaker::ChangeSlots},   {5, &BodyMaker::UseSlot},
    {1, &BodyMaker::StandIn},      {5, &BodyMaker::CopyOrFill},    {5, &BodyMaker::LaunchKernel},
    {1, &BodyMaker::WaitOrTrace},  {1, &BodyMaker::CheckGuard},    {3, &BodyMaker::CallFunction},
    {8, &BodyMaker::CallHost},     {2, &BodyMaker::MakeOutput},    {3, &BodyMaker::BranchForwards},
    {3, &BodyMaker::BindForward},  {1, &BodyMaker::JumpForwards},  {2, &BodyMaker::BeginLoop},
    {2, &BodyMaker::EndLoop},
};

BodyMaker::BodyMaker(const Tables& tables, uint32_t function, FunctionBuilder& body, Choices& choices)
    : tables_(tables),
      function_(function),
      spec_(tables.functions[function]),
      body_(body),
      choices_(choices) {
  assigned_.scalars.assign(spec_.scalar_inputs, true);
  assigned_.refs.assign(spec_.inputs.size(), true);
  for (const ParameterSpec& input : spec_.inputs) {
    Reference reference;
    reference.dtype = input.type.dtype;
    reference.read_only = true;
    if (input.type.kind == ValueKind::kTensor)
      reference.holds = input.type.dtype == DType::kString ? Holds::kStrings : Holds::kTensor;
    if (input.type.kind == ValueKind::kSequence) reference.holds = Holds::kSequence;
    if (input.type.kind == ValueKind::kTuple) reference.holds = Holds::kTuple;
    references_.push_back(reference);
  }
}

void BodyMaker::Make() {
  size_t total = 0;
  for (const Statement& statement : kStatements) total += statement.weight;
  for (size_t left = 2 + choices_.Below(function_ == 0 ? 40 : 12); left > 0; --left) {
    if (choices_.OneIn(8)) body_.SetSourceNode("/node." + std::to_string(choices_.Below(4)));
    size_t number = choices_.Below(total);
    const Statement* statement = kStatements;
    while (number >= statement->weight) number -= (statement++)->weight;
    (this->*statement->make)();
    if (choices_.OneIn(60)) {  // what follows is reached by branches alone, if at all
      ReturnAll(!choices_.OneIn(4));
      if (!forwards_.empty()) BindForward();
    }
  }
  while (!loops_.empty()) EndLoop();
  while (!forwards_.empty()) BindForward();
  ReturnAll(true);
}

// ---- registers ----

ScalarReg BodyMaker::Small() {
  if (choices_.OneIn(30)) return Number();
  const std::vector<uint32_t> known = SetBits(assigned_.scalars);
  if (!known.empty() && !choices_.OneIn(3)) {
    const uint32_t reg = choices_.Of(known);
    if (reg < small_.size() && small_[reg]) return {reg};
  }
  return body_.Immediate(choices_.Below(9));
}

ScalarReg BodyMaker::Number() {
  const std::vector<uint32_t> known = SetBits(assigned_.scalars);
  if (known.empty() || choices_.OneIn(6))
    return body_.Immediate(kTelling[choices_.Below(std::size(kTelling))]);
  return {choices_.Of(known)};
}

RefReg BodyMaker::AnyRef() {
  const std::vector<uint32_t> known = SetBits(assigned_.refs);
  if (!known.empty()) return {choices_.Of(known)};
  RefReg empty = NewReference({});
  body_.Emit(Opcode::kRelease, {Dst(empty)});
  return empty;
}

RefReg BodyMaker::Held(Holds wanted) {
  if (choices_.OneIn(25)) return AnyRef();
  std::vector<uint32_t> fitting;
  for (uint32_t reg : SetBits(assigned_.refs))
    if (references_[reg].holds == wanted) fitting.push_back(reg);
  if (!fitting.empty()) return {choices_.Of(fitting)};
  TypeSpec type;
  type.dtype = wanted == Holds::kStrings ? DType::kString : ElementType();
  type.dims.resize(1);
  if (wanted == Holds::kSequence || wanted == Holds::kTuple) {
    const TypeSpec element = type;
    type = {};
    type.kind = wanted == Holds::kSequence ? ValueKind::kSequence : ValueKind::kTuple;
    type.elements = {element};
  }
  return wanted == Holds::kBuffer ? Room(kHostDevice, true) : ValueOf(type, 0);
}

RefReg BodyMaker::Room(uint32_t device, bool is_written) {
  if (choices_.OneIn(30)) return AnyRef();
  std::vector<uint32_t> fitting;
  for (uint32_t reg : SetBits(assigned_.refs)) {
    const Reference& held = references_[reg];
    if (held.device == device && held.bytes >= 16 && !(is_written && held.read_only)) fitting.push_back(reg);
  }
  if (!fitting.empty()) return {choices_.Of(fitting)};
  const int64_t bytes = 64 + 8 * choices_.Below(32);
  const ScalarReg size = body_.Immediate(bytes);
  const RefReg arena = NewReference({Holds::kBuffer, DType::kU8, device, bytes});
  body_.Emit(Opcode::kArenaOn, {Dst(arena), {kIndex, device}, Src(size)});
  return arena;
}

ScalarReg BodyMaker::NewNumber(bool is_small) {
  ScalarReg reg;
  std::vector<uint32_t> known = SetBits(assigned_.scalars);
  std::erase_if(known, [&](uint32_t number) { return number < fixed_.size() && fixed_[number]; });
  reg = !known.empty() && choices_.OneIn(4) ? ScalarReg{choices_.Of(known)} : body_.NewScalar();
  Mark(&assigned_.scalars, reg.index);
  Mark(&small_, reg.index);
  small_[reg.index] = is_small;
  return reg;
}

RefReg BodyMaker::NewReference(const Reference& reference) {
  const std::vector<uint32_t> known = SetBits(assigned_.refs);
  const RefReg reg = !known.empty() && choices_.OneIn(4) ? RefReg{choices_.Of(known)} : body_.NewRef();
  Mark(&assigned_.refs, reg.index);
  if (references_.size() <= reg.index) references_.resize(reg.index + 1);
  references_[reg.index] = reference;
  return reg;
}

bool BodyMaker::HasSlot() const {
  return std::find(assigned_.slots.begin(), assigned_.slots.end(), true) != assigned_.slots.end();
}
SlotReg BodyMaker::Slot() { return {choices_.Of(SetBits(assigned_.slots))}; }

uint32_t BodyMaker::Queue() {
  return tables_.uses_devices[function_] && !choices_.OneIn(4) ? choices_.Below(tables_.devices)
                                                               : kHostDevice;
}

DType BodyMaker::ElementType() {
  static constexpr DType kTypes[] = {DType::kF32, DType::kI64,  DType::kF64, DType::kU8,
                                     DType::kI32, DType::kBool, DType::kF16, DType::kBF16};
  return kTypes[choices_.Below(std::size(kTypes))];
}

DType BodyMaker::AnyType() {
  return choices_.OneIn(3) ? static_cast<DType>(1 + choices_.Below(kDTypeCount - 1)) : ElementType();
}

std::vector<uint32_t> BodyMaker::Dims(int64_t* elements) {
  std::vector<uint32_t> dims(choices_.OneIn(12) ? choices_.Below(10) : choices_.Below(3));
  *elements = 1;
  for (uint32_t& dim : dims) {
    const int64_t size = choices_.OneIn(5) ? 0 : 1 + choices_.Below(4);
    dim = size == 0 ? Small().index : body_.Immediate(size).index;
    *elements *= size;
  }
  return dims;
}

BufferOperand BodyMaker::Memory(uint32_t device, bool is_written) {
  const uint32_t offset = choices_.OneIn(4) ? Small().index : BufferOperand::kNoOffset;
  std::vector<uint32_t> slots = SetBits(assigned_.slots);
  std::erase_if(slots, [&](uint32_t slot) { return slot_devices_[slot] != device; });
  if (!slots.empty() && !choices_.OneIn(3)) return SlotOperand(choices_.Of(slots), offset);
  if (!is_written && choices_.OneIn(3))
    for (uint32_t i = 0; i < tables_.constants.size(); ++i)
      if (tables_.constants[i].dtype != DType::kString && choices_.OneIn(2))
        return {i | BufferOperand::kConstantBit, offset};
  return {Room(device, is_written).index, offset};
}

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
  std::vector<ScalarReg> sizes(tables_.plan_values[plan]);
  for (ScalarReg& size : sizes)
    size = choices_.OneIn(6) ? Small() : body_.Immediate(16 + 8 * choices_.Below(12));
  RefReg arena;
  const SlotReg first = body_.Slots(PlanId{plan}, sizes, queue, &arena);
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

// ---- control ----

void BodyMaker::BranchForwards() {
  Forward forward{body_.NewLabel(), {}};
  const ScalarReg condition = choices_.OneIn(2) ? Small() : Number();
  forward.assigned = assigned_;
  choices_.OneIn(2) ? body_.BranchIf(condition, forward.label) : body_.BranchIfNot(condition, forward.label);
  forwards_.push_back(std::move(forward));
}

void BodyMaker::BindForward() {
  if (forwards_.empty()) return;
  const size_t number = choices_.Below(forwards_.size());
  body_.Bind(forwards_[number].label);
  assigned_.Intersect(forwards_[number].assigned);
  forwards_.erase(forwards_.begin() + static_cast<std::ptrdiff_t>(number));
}

// To where another branch leads already; what follows is reached by that of a third one.
void BodyMaker::JumpForwards() {
  if (forwards_.size() < 2) return;
  body_.Jump(forwards_.back().label);
  forwards_.back().assigned.Intersect(assigned_);
  body_.Bind(forwards_.front().label);
  assigned_ = forwards_.front().assigned;
  forwards_.erase(forwards_.begin());
}

void BodyMaker::BeginLoop() {
  Loop loop;
  loop.turns = body_.NewScalar();
  Mark(&fixed_, loop.turns.index);
  body_.Emit(Opcode::kConstant64, {Dst(loop.turns), {kImmediate, 1 + choices_.Below(4)}});
  Mark(&assigned_.scalars, loop.turns.index);
  loop.begin = body_.NewLabel();
  body_.Bind(loop.begin);
  loop.assigned = assigned_;
  loops_.push_back(std::move(loop));
}

void BodyMaker::EndLoop() {
  if (loops_.empty()) return;
  const Loop loop = std::move(loops_.back());
  loops_.pop_back();
  if (!assigned_.Covers(loop.assigned)) return;  // a path leads here past its beginning
  if (!choices_.OneIn(40))
    body_.Emit(Opcode::kSub, {Dst(loop.turns), Src(loop.turns), Src(body_.Immediate(1))});
  body_.BranchIf(loop.turns, loop.begin);
}

// ---- values of a type ----

RefReg BodyMaker::HostResult(HostFunctionId function, std::vector<uint32_t> scalars,
                             std::vector<uint32_t> refs, Holds holds, DType dtype) {
  const RefReg result = NewReference({holds, dtype});
  body_.Emit(Opcode::kHostCall, {{kIndex, static_cast<int64_t>(function)},
                                 {kScalarList, std::move(scalars)},
                                 {kRefList, std::move(refs)},
                                 {kScalarDstList, std::vector<uint32_t>()},
                                 {kRefDstList, std::vector<uint32_t>{result.index}}});
  return result;
}

RefReg BodyMaker::ValueOf(const TypeSpec& type, int depth) {
  std::vector<uint32_t> elements;
  switch (type.kind) {
    case ValueKind::kTensor: {
      std::vector<uint32_t> dims(type.has_rank ? type.dims.size() : choices_.Below(3));
      for (size_t i = 0; i < dims.size(); ++i)
        dims[i] = type.has_rank && type.dims[i].value >= 0 ? body_.Immediate(type.dims[i].value).index
                                                           : Small().index;
      const RefReg tensor =
          NewReference({type.dtype == DType::kString ? Holds::kStrings : Holds::kTensor, type.dtype});
      body_.Emit(Opcode::kAllocate, {Dst(tensor), Type(type.dtype), {kScalarList, dims}});
      return tensor;
    }
    case ValueKind::kOptional: {
      if (choices_.OneIn(2) && !type.elements.empty()) return ValueOf(type.elements[0], depth + 1);
      const RefReg nothing = NewReference({});
      body_.Emit(Opcode::kRelease, {Dst(nothing)});
      return nothing;
    }
    case ValueKind::kSequence:
      for (uint32_t left = depth > 3 || type.elements.empty() ? 0 : choices_.Below(3); left > 0; --left)
        elements.push_back(ValueOf(type.elements[0], depth + 1).index);
      return HostResult(HostFunctionId::kSequenceConstruct, {}, elements, Holds::kSequence, DType::kF32);
    case ValueKind::kTuple:
      for (const TypeSpec& field : type.elements) elements.push_back(ValueOf(field, depth + 1).index);
      return HostResult(HostFunctionId::kTupleMake, {Small().index}, elements, Holds::kTuple, DType::kF32);
  }
  return AnyRef();
}

// `is_tidy`: what the signature says, mostly.
void BodyMaker::ReturnAll(bool is_tidy) {
  std::vector<ScalarReg> scalars(spec_.scalar_outputs);
  for (ScalarReg& scalar : scalars) scalar = Small();
  std::vector<RefReg> refs;
  for (uint32_t k = 0; k < spec_.outputs.size(); ++k) {
    const TypeSpec& type = spec_.outputs[k].type;
    if (!is_tidy || choices_.OneIn(25)) {
      refs.push_back(AnyRef());
    } else if (type.kind != ValueKind::kTensor || choices_.OneIn(4)) {
      refs.push_back(ValueOf(type, 0));
    } else {
      std::vector<ScalarReg> dims(type.has_rank ? type.dims.size() : 1);
      for (ScalarReg& dim : dims) dim = Small();
      refs.push_back(body_.Output(k, dims));
      Mark(&assigned_.refs, refs.back().index);
      if (references_.size() <= refs.back().index) references_.resize(refs.back().index + 1);
      references_[refs.back().index] = {Holds::kTensor, type.dtype};
    }
  }
  body_.Return(scalars, refs);
}

}  // namespace tvmvm::fuzz
