#include "tvm-vm/assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bytecode/builder.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;

TEST(Assembler, Golden) {
  CheckGolden("bytecode", [](const std::string& input) {
    auto program = Assemble(input);
    if (!program) return std::string(CodeName(program.error().code)) + ": " + program.error().message + "\n";
    std::string text = Disassemble(**program);
    auto again = Assemble(text);
    EXPECT_TRUE(again) << again.error().message;
    if (again) {
      EXPECT_EQ(Disassemble(**again), text);
    }
    return text;
  });
}

TEST(Assembler, GoldenFileHasEveryOpcode) {
  std::string text = ReadText(SourcePath("tests/golden/bytecode/every_opcode.txt"));
  auto program = Assemble(text.substr(0, text.find("----\n")));
  ASSERT_TRUE(program) << program.error().message;
  std::vector<bool> seen(Opcodes().size(), false);
  for (const FunctionSpec& function : (*program)->functions)
    for (uint32_t word = 0; word < function.code.size(); word += function.code[word] >> 8)
      seen[function.code[word] & 0xff] = true;
  for (const OpcodeInfo& info : Opcodes())
    EXPECT_TRUE(seen[static_cast<size_t>(info.opcode)]) << info.mnemonic;
}

std::shared_ptr<const Program> ProgramWithBlobs(std::span<const std::byte> bytes) {
  Builder builder;
  builder.AddLibrary({DeviceKind::kCpu, KernelForm::kSharedObject, "x86-64-v3", bytes});
  ConstantSpec constant{.name = "w", .dtype = DType::kU8, .dims = {static_cast<int64_t>(bytes.size())}};
  constant.bytes = bytes;
  builder.AddConstant(std::move(constant));
  FunctionSpec spec;
  spec.name = "main";
  FunctionBuilder& body = builder.AddFunction(std::move(spec));
  body.SetSourceNode("/a");
  body.Return({}, {});
  builder.SetEntry(body.id());
  return *builder.Finish();
}

TEST(Disassembler, ShowsLargeConstantsAndLibrariesByDigest) {
  std::vector<std::byte> bytes(100, std::byte{1});
  auto program = ProgramWithBlobs(bytes);
  std::string text = Disassemble(*program);
  EXPECT_THAT(text, HasSubstr("; library cpu shared_object \"x86-64-v3\" 100 bytes digest "));
  EXPECT_THAT(text, HasSubstr("constant c0 \"w\": u8[100] digest \""));
  auto refused = Assemble(text);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("constant 'w' is given by its digest"));

  std::string full = Disassemble(*program, {.constant_bytes = true});
  EXPECT_THAT(full, HasSubstr("constant c0 \"w\": u8[100] hex \"0101"));
  auto again = Assemble(full);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->constants[0].bytes.size(), 100u);
}

TEST(Disassembler, SourceNodesAreOptional) {
  auto program = ProgramWithBlobs({});
  EXPECT_THAT(Disassemble(*program), HasSubstr("node \"/a\""));
  EXPECT_THAT(Disassemble(*program, {.source_nodes = false}), ::testing::Not(HasSubstr("node \"/a\"")));
}

// Whatever the text, Assemble gives a program or an error with a place.
TEST(Assembler, DamagedTextNeverCrashes) {
  std::string text = ReadText(SourcePath("tests/golden/bytecode/every_opcode.txt"));
  text = text.substr(0, text.find("----\n"));
  uint64_t state = 1;
  auto random = [&](size_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  const std::string characters = "@()[]{}<>,:=+*?\"\\;.-ircpL019 \n\x80";
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (size_t changes = 1 + random(3); changes > 0 && !damaged.empty(); --changes) {
      size_t at = random(damaged.size());
      switch (random(4)) {
        case 0:
          damaged.erase(at, 1 + random(20));
          break;
        case 1:
          damaged.insert(at, 1, characters[random(characters.size())]);
          break;
        case 2:
          damaged[at] = characters[random(characters.size())];
          break;
        default:
          damaged.resize(at + 1);
          break;
      }
    }
    auto program = Assemble(damaged);
    if (!program) {
      EXPECT_FALSE(program.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace tvmvm
