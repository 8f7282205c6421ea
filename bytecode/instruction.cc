#include "bytecode/instruction.h"

#include <array>

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

}  // namespace

std::span<const OpcodeInfo> Opcodes() { return kOpcodes; }

std::optional<Opcode> OpcodeFromMnemonic(std::string_view mnemonic) {
  for (const OpcodeInfo& info : kOpcodes)
    if (info.mnemonic == mnemonic) return info.opcode;
  return std::nullopt;
}

}  // namespace tvmvm
