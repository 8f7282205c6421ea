#include "bytecode/instruction.h"

#include <gtest/gtest.h>

#include <set>

#include "bytecode/encoding.h"

namespace tvmvm {
namespace {

TEST(Opcodes, RowsAreInOrderAndMnemonicsUnique) {
  std::set<std::string_view> mnemonics;
  for (size_t i = 0; i < Opcodes().size(); ++i) {
    const OpcodeInfo& info = Opcodes()[i];
    EXPECT_EQ(static_cast<size_t>(info.opcode), i);
    EXPECT_TRUE(mnemonics.insert(info.mnemonic).second) << info.mnemonic;
    EXPECT_EQ(OpcodeFromMnemonic(info.mnemonic), info.opcode);
    EXPECT_FALSE(info.meaning.empty());
  }
  EXPECT_FALSE(OpcodeFromMnemonic("nothing"));
}

// The row number is the wire code: rows that files in the world use must not move.
TEST(Opcodes, WireCodesStay) {
  EXPECT_EQ(static_cast<int>(Opcode::kJump), 0);
  EXPECT_EQ(static_cast<int>(Opcode::kConstant64), 6);
  EXPECT_EQ(static_cast<int>(Opcode::kMoveRef), 31);
  EXPECT_EQ(static_cast<int>(Opcode::kPlan), 34);
  EXPECT_EQ(static_cast<int>(Opcode::kLaunch), 43);
  EXPECT_EQ(static_cast<int>(Opcode::kHostCall), 47);
}

// An operand with every bit pattern that its kind can hold.
Operand SampleOperand(OperandKind kind, uint32_t seed) {
  switch (kind) {
    case OperandKind::kImmediate:
      return {kind, seed % 2 ? INT64_MIN + seed : -int64_t{seed}};
    case OperandKind::kBufferList:
      return {kind,
              std::vector<uint32_t>{seed, BufferOperand::kNoOffset, seed | BufferOperand::kConstantBit, 7}};
    default:
      if (IsList(kind)) return {kind, std::vector<uint32_t>(seed % 5, seed)};
      return {kind, int64_t{0xffffffff} - seed};
  }
}

TEST(Encoding, EveryInstructionComesBack) {
  std::vector<uint32_t> code;
  std::vector<std::vector<Operand>> given;
  for (const OpcodeInfo& info : Opcodes()) {
    std::vector<Operand> operands;
    for (OperandKind kind : info.operands)
      operands.push_back(SampleOperand(kind, static_cast<uint32_t>(operands.size() + given.size())));
    ASSERT_TRUE(EncodeInstruction(info.opcode, operands, &code));
    given.push_back(std::move(operands));
  }
  uint32_t word = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    auto instruction = DecodeInstruction(code, word);
    ASSERT_TRUE(instruction) << instruction.error().message;
    EXPECT_EQ(instruction->info, &Opcodes()[i]);
    ASSERT_EQ(instruction->operand_count, given[i].size());
    for (size_t k = 0; k < given[i].size(); ++k) {
      const DecodedOperand& operand = instruction->operand(k);
      EXPECT_EQ(operand.kind, given[i][k].kind);
      if (IsList(operand.kind))
        EXPECT_EQ(std::vector<uint32_t>(operand.list.begin(), operand.list.end()), given[i][k].list);
      else
        EXPECT_EQ(operand.value, given[i][k].value);
    }
    word += instruction->words;
  }
  EXPECT_EQ(word, code.size());
}

TEST(Encoding, AnInstructionHasALimit) {
  std::vector<uint32_t> code;
  std::vector<Operand> operands = {{OperandKind::kScalarList, std::vector<uint32_t>(1 << 24)},
                                   {OperandKind::kRefList, std::vector<uint32_t>()}};
  auto encoded = EncodeInstruction(Opcode::kReturn, operands, &code);
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().message, "return: 16777219 words, an instruction has at most 16777215");
  EXPECT_TRUE(code.empty());
}

}  // namespace
}  // namespace tvmvm
