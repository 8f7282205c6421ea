// Programs made at random, and damaged ones: the verifier's word is all that the interpreter needs.
#include <gtest/gtest.h>

#include "bytecode/encoding.h"
#include "bytecode/host_functions.h"
#include "bytecode/verifier.h"
#include "tests/fuzz/change_program.h"
#include "tests/fuzz/program_maker.h"
#include "tests/fuzz/run_program.h"
#include "tests/models/corruption.h"
#include "tests/serializer/editable_file.h"
#include "tests/tries.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::fuzz {
namespace {

const uint32_t kSeeds = Tries(5000, 2000);

std::shared_ptr<const Program> Made(uint32_t seed, Choices& choices) {
  auto program = MakeProgram(choices);
  EXPECT_TRUE(program) << "seed " << seed << ": " << program.error().message;
  return program ? *program : nullptr;
}

// How runs ended.
struct Ends {
  int ran = 0, failed = 0;
  void Count(const Status& status, uint32_t seed) {
    status ? ++ran : ++failed;
    if (!status) {
      ASSERT_NE(status.error().code, Code::kInternal) << "seed " << seed << ": " << status.error().message;
    }
  }
};

TEST(MadePrograms, Run) {
  Ends ends;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Choices choices(seed);
    auto program = Made(seed, choices);
    ASSERT_TRUE(program);
    ends.Count(RunUnderLimits(program, choices, true), seed);
    if (HasFatalFailure()) return;
  }
  // Programs of which most go wrong early tell little.
  EXPECT_GT(ends.ran, static_cast<int>(kSeeds / 6));
  EXPECT_GT(ends.failed, static_cast<int>(kSeeds / 6));
}

// What never comes up is attacked by nobody.
TEST(MadePrograms, HoldAllOpcodesAndHostFunctions) {
  std::vector<int> opcodes(Opcodes().size()), functions(HostSignatures().size());
  for (uint32_t seed = 0; seed < kSeeds / 4; ++seed) {
    Choices choices(seed);
    auto program = Made(seed, choices);
    ASSERT_TRUE(program);
    for (const FunctionSpec& function : program->functions)
      ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
        ++opcodes[static_cast<size_t>(instruction.info->opcode)];
        if (instruction.info->opcode == Opcode::kHostCall)
          ++functions[static_cast<size_t>(instruction.operand(0).value)];
      });
  }
  for (size_t i = 0; i < opcodes.size(); ++i) EXPECT_GT(opcodes[i], 0) << Opcodes()[i].mnemonic;
  for (size_t i = 0; i < functions.size(); ++i) EXPECT_GT(functions[i], 0) << HostSignatures()[i].name;
}

TEST(MadePrograms, AreTheSameAsTextAndAsFile) {
  for (uint32_t seed = 0; seed < kSeeds / 4; ++seed) {
    Choices choices(seed);
    auto program = Made(seed, choices);
    ASSERT_TRUE(program);
    auto loaded = LoadProgramFromMemory(*SerializeProgram(*program));
    ASSERT_TRUE(loaded) << "seed " << seed << ": " << loaded.error().message;
    ASSERT_EQ(Disassemble(**loaded), Disassemble(*program)) << "seed " << seed;
    Program without_libraries = *program;  // which no text holds
    without_libraries.libraries.clear();
    const std::string text = Disassemble(without_libraries);
    auto assembled = Assemble(text);
    ASSERT_TRUE(assembled) << "seed " << seed << ": " << assembled.error().message << "\n" << text;
    ASSERT_EQ(Disassemble(**assembled), text) << "seed " << seed;
  }
}

TEST(MadePrograms, WithOtherWordsAreRefusedOrRun) {
  Ends ends;
  int refused = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Choices choices(seed);
    auto program = Made(seed, choices);
    ASSERT_TRUE(program);
    for (int change = 0; change < 4; ++change) {
      auto changed = std::make_shared<Program>(*program);
      for (uint32_t left = 1 + choices.Below(2); left > 0; --left) ChangeWord(changed.get(), choices);
      if (Status verified = VerifyProgram(*changed); !verified) {
        ++refused;
        ASSERT_EQ(verified.error().code, Code::kInvalidProgram);
        continue;
      }
      ends.Count(RunUnderLimits(changed, choices, true), seed);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(refused, static_cast<int>(kSeeds));
  EXPECT_GT(ends.ran, static_cast<int>(kSeeds / 10));
  EXPECT_GT(ends.failed, static_cast<int>(kSeeds / 10));
}

TEST(MadePrograms, FilesWithRightDigestsAreRefusedOrRun) {
  Ends ends;
  int refused = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Choices choices(seed);
    auto program = Made(seed, choices);
    ASSERT_TRUE(program);
    const std::vector<std::byte> file = *SerializeProgram(*program);
    Corruption corruption(seed);
    for (int change = 0; change < 4; ++change) {
      EditableFile parts(file);
      std::vector<std::byte>& section =
          parts.section(std::array{"metadata", "code", "debug", "kernels.rows"}[change]);
      section = corruption.Apply(section);
      auto loaded = LoadProgramFromMemory(parts.Build());
      if (!loaded) {
        ++refused;
        ASSERT_FALSE(loaded.error().message.empty());
        continue;
      }
      ends.Count(RunUnderLimits(*loaded, choices, true), seed);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(refused, static_cast<int>(kSeeds / 4));
  EXPECT_GT(ends.ran, static_cast<int>(kSeeds / 40));
  EXPECT_GT(ends.failed, static_cast<int>(kSeeds / 40));
}

}  // namespace
}  // namespace tvmvm::fuzz
