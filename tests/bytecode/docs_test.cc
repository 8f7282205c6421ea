// docs/bytecode.md's tables are generated from opcodes.def and host_functions.def.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "bytecode/host_functions.h"
#include "bytecode/instruction.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"
#include "tvm-vm/assembler.h"

namespace tvmvm {
namespace {

const std::string kPath = SourcePath("docs/bytecode.md");

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

std::string CountOf(uint32_t count) { return count == HostSignature::kAny ? "any" : std::to_string(count); }

std::string HostFunctionTable() {
  std::string table =
      "| number | function | scalars | references | scalar results | reference results | meaning |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  size_t number = 0;
  for (const HostSignature& function : HostSignatures())
    table += fmt::format("| {} | `{}` | {} | {} | {} | {} | {} |\n", number++, function.name,
                         CountOf(function.scalars), CountOf(function.refs), CountOf(function.scalar_results),
                         CountOf(function.ref_results), function.meaning);
  return table;
}

// The lines between "<!-- name begin -->" and "<!-- name end -->" are `table`; rewritten on demand.
void CheckTable(const std::string& name, const std::string& table) {
  std::string text = ReadText(kPath);
  const std::string begin = "<!-- " + name + " begin -->\n";
  const std::string end = "<!-- " + name + " end -->";
  size_t from = text.find(begin);
  size_t to = text.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  from += begin.size();
  if (UpdateGolden()) {
    std::ofstream(kPath, std::ios::binary) << text.substr(0, from) << table << text.substr(to);
    return;
  }
  EXPECT_EQ(text.substr(from, to - from), table);
}

TEST(Docs, OpcodeTableIsFresh) { CheckTable("opcodes", OpcodeTable()); }
TEST(Docs, HostFunctionTableIsFresh) { CheckTable("host functions", HostFunctionTable()); }

TEST(Docs, HostFunctionsHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const HostSignature& function : HostSignatures()) {
    EXPECT_TRUE(names.insert(function.name).second) << function.name;
    EXPECT_FALSE(function.meaning.empty()) << function.name;
  }
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
