// What the statements of a body read and write: registers, memory, values of a type.
#include <algorithm>

#include "tests/fuzz/body_maker.h"
#include "tests/fuzz/body_registers.h"

namespace tvmvm::fuzz {
namespace {

using enum OperandKind;

constexpr int64_t kTelling[] = {-1,      0,         1,         2,         63,        64,        4096,
                                1 << 20, INT64_MAX, INT64_MIN, 1LL << 32, 1LL << 62, -1LL << 32};

}  // namespace

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

std::vector<BufferOperand> BodyMaker::Among(uint32_t device, size_t most) {
  std::vector<BufferOperand> among;
  for (uint32_t reg : SetBits(assigned_.refs)) {
    const Reference& held = references_[reg];
    const bool fits = held.holds == Holds::kBuffer && held.device == device;
    if ((fits && !choices_.OneIn(3)) || choices_.OneIn(60)) among.push_back({reg});
  }
  if (among.empty()) return {};
  for (uint32_t slot : SetBits(assigned_.slots)) {
    if (most == 0) break;
    if (slot_devices_[slot] != device || choices_.OneIn(3)) continue;
    among.push_back(SlotOperand(slot));
    --most;
  }
  return among;
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

}  // namespace tvmvm::fuzz
