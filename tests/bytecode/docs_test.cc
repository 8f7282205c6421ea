// docs/bytecode.md's opcode table is generated from opcodes.def.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "bytecode/assembler.h"
#include "bytecode/instruction.h"
#include "tests/golden/golden.h"

namespace tvmvm {
namespace {

constexpr const char* kPath = TVMVM_SOURCE_DIR "/docs/bytecode.md";

std::string OpcodeTable() {
  std::string table =
      "| code | instruction | operands | effect | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const OpcodeInfo& info : Opcodes()) {
    std::string operands;
    for (OperandKind kind : info.operands)
      operands += (operands.empty() ? "" : ", ") + std::string(OperandKindName(kind));
    table += fmt::format("| {} | `{}` | {} | {} | {} |\n", static_cast<int>(info.opcode), info.mnemonic,
                         operands, EffectName(info.effect), info.meaning);
  }
  return table;
}

TEST(Docs, OpcodeTableIsFresh) {
  std::string text = ReadText(kPath);
  const std::string begin = "<!-- opcodes begin -->\n";
  const std::string end = "<!-- opcodes end -->";
  size_t from = text.find(begin);
  size_t to = text.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  from += begin.size();
  if (UpdateGolden()) {
    std::ofstream(kPath, std::ios::binary) << text.substr(0, from) << OpcodeTable() << text.substr(to);
    return;
  }
  EXPECT_EQ(text.substr(from, to - from), OpcodeTable());
}

// The example of the section on text is what the disassembler prints.
TEST(Docs, ExampleAssembles) {
  std::string text = ReadText(kPath);
  size_t from = text.find("    entry @main\n");
  size_t to = text.find("\n    }\n", from);
  ASSERT_NE(to, std::string::npos);
  std::string example;
  std::istringstream lines(text.substr(from, to + 7 - from));
  for (std::string line; std::getline(lines, line);)
    example += line.substr(std::min<size_t>(line.size(), 4)) + "\n";
  auto program = Assemble(example);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(Disassemble(**program), example);
}

}  // namespace
}  // namespace tvmvm
