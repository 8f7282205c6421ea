#include "bytecode/instruction.h"

#include <iterator>

#include "bytecode/encoding.h"

namespace tvmvm {
namespace {

using enum OperandKind;
using enum Effect;

// The operand kinds of each row as an array of static storage, which OpcodeInfo points to.
#define OPERANDS(...) __VA_ARGS__
#define OP(name, mnemonic, operands, effect, meaning) constexpr OperandKind kOperandsOf##name[] = {operands};
#include "bytecode/opcodes.def"
#undef OP
#undef OPERANDS

constexpr OpcodeInfo kOpcodes[] = {
#define OP(name, mnemonic, operands, effect, meaning) \
  {Opcode::k##name, #name, mnemonic, kOperandsOf##name, effect, meaning},
#include "bytecode/opcodes.def"
#undef OP
};

static_assert(std::size(kOpcodes) <= 64, "the instruction set stays small");

struct KindRow {
  OperandKind kind;
  std::string_view name;
};
constexpr KindRow kKinds[] = {
    {kScalarDst, "scalar destination"},
    {kScalarSrc, "scalar"},
    {kRefDst, "reference destination"},
    {kRefSrc, "reference"},
    {kImmediate, "immediate"},
    {kTarget, "target"},
    {kFunction, "function"},
    {kKernel, "kernel"},
    {kConstant, "constant"},
    {kPlan, "plan"},
    {kString, "string"},
    {kDType, "dtype"},
    {kIndex, "index"},
    {kScalarList, "scalar list"},
    {kRefList, "reference list"},
    {kScalarDstList, "scalar destination list"},
    {kRefDstList, "reference destination list"},
    {kBufferList, "buffer list"},
    {kSlotDst, "slot destination"},
    {kSlotSrc, "slot"},
};

constexpr bool KindsAreInOrder() {
  for (size_t i = 0; i < std::size(kKinds); ++i)
    if (static_cast<size_t>(kKinds[i].kind) != i) return false;
  return std::size(kKinds) == kOperandKindCount;
}
static_assert(KindsAreInOrder());

constexpr bool OperandCountsFit() {
  for (const OpcodeInfo& info : kOpcodes)
    if (info.operands.size() > kMaxOperands) return false;
  return true;
}
static_assert(OperandCountsFit());

}  // namespace

std::string_view OperandKindName(OperandKind kind) { return kKinds[static_cast<size_t>(kind)].name; }

std::string_view EffectName(Effect effect) {
  switch (effect) {
    case kPure:
      return "pure";
    case kControl:
      return "control";
    case kCall:
      return "call";
    case kAllocates:
      return "allocates";
    case kSubmits:
      return "submits";
    case kWaits:
      return "waits";
  }
  return "unknown";
}

std::span<const OpcodeInfo> Opcodes() { return kOpcodes; }

std::optional<Opcode> OpcodeFromMnemonic(std::string_view mnemonic) {
  for (const OpcodeInfo& info : kOpcodes)
    if (info.mnemonic == mnemonic) return info.opcode;
  return std::nullopt;
}

}  // namespace tvmvm
