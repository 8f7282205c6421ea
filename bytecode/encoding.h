// One instruction <-> its words. The only code that knows how operands are laid out; builder, verifier,
// assembler, disassembler and interpreter tools go through it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bytecode/instruction.h"
#include "tvm-vm/status.h"

namespace tvmvm {

inline constexpr uint32_t kMaxInstructionWords = (1u << 24) - 1;
inline constexpr size_t kMaxOperands = 6;

// One operand to encode; the kinds must match the opcode's row.
struct Operand {
  OperandKind kind = OperandKind::kIndex;
  int64_t value = 0;           // register, index, immediate, target word
  std::vector<uint32_t> list;  // the list kinds; kBufferList: pairs
  Operand(OperandKind kind, int64_t value) : kind(kind), value(value) {}
  Operand(OperandKind kind, std::vector<uint32_t> list) : kind(kind), list(std::move(list)) {}
};

// One operand as found in code.
struct DecodedOperand {
  OperandKind kind = OperandKind::kIndex;
  uint32_t word = 0;               // index in the code of the operand's first word
  int64_t value = 0;               // kinds that are no list
  std::span<const uint32_t> list;  // the list kinds, without the count; kBufferList: pairs
  size_t list_size() const { return kind == OperandKind::kBufferList ? list.size() / 2 : list.size(); }
  BufferOperand buffer(size_t i) const { return {list[2 * i], list[2 * i + 1]}; }
};

struct DecodedInstruction {
  const OpcodeInfo* info = nullptr;
  uint32_t word = 0;   // index in the code of the first word
  uint32_t words = 0;  // length
  uint32_t operand_count = 0;
  std::array<DecodedOperand, kMaxOperands> operand_storage;
  std::span<const DecodedOperand> operands() const { return {operand_storage.data(), operand_count}; }
  const DecodedOperand& operand(size_t i) const { return operand_storage[i]; }
};

// Whether an instruction asks the planner where slots lie.
constexpr bool MakesSlots(Opcode opcode) { return opcode == Opcode::kSlots || opcode == Opcode::kSlotsAmong; }
// How many slots an instruction sets from its destination on: one for each value of a plan.
inline size_t SlotsSet(const DecodedInstruction& instruction) {
  return MakesSlots(instruction.info->opcode) ? instruction.operand(4).list_size() : 1;
}
// How many values of its plan lie somewhere already: slots that it names.
inline size_t SlotsKept(const DecodedInstruction& instruction) {
  if (instruction.info->opcode != Opcode::kSlotsAmong) return 0;
  size_t kept = 0;
  for (size_t i = 0; i < instruction.operand(5).list_size(); ++i)
    kept += instruction.operand(5).buffer(i).is_slot() ? 1 : 0;
  return kept;
}

// Appends the instruction to `code`. `operand_words`, where given, receives the index of each operand's first
// word. Errors: kInvalidProgram for an operand that does not match the opcode's row or does not fit its
// words.
[[nodiscard]] Status EncodeInstruction(Opcode opcode, std::span<const Operand> operands,
                                       std::vector<uint32_t>* code,
                                       std::vector<uint32_t>* operand_words = nullptr);

// Decodes the instruction that starts at word `at` of untrusted code; the result borrows `code`.
// Errors: kInvalidProgram for an unknown opcode or a length that disagrees with the operands or the code.
[[nodiscard]] Expected<DecodedInstruction> DecodeInstruction(std::span<const uint32_t> code, uint32_t at);

// Visits every instruction of code that was verified.
template <class Visit>
void ForEachInstruction(std::span<const uint32_t> code, Visit visit) {
  for (uint32_t word = 0; word < code.size(); word += code[word] >> 8) visit(*DecodeInstruction(code, word));
}

}  // namespace tvmvm
