#include "tvm-vm/program.h"

#include <gtest/gtest.h>

#include "bytecode/digest.h"
#include "tvm-vm/status.h"
#include "tvm-vm/target_info.h"

namespace tvmvm {
namespace {

TEST(Program, SourceNodeCoversInstructionsUpToTheNextEntry) {
  Program program;
  program.strings = {"a", "b"};
  FunctionSpec function;
  function.name = "main";
  function.lines = {{4, StringId{0}}, {9, StringId{1}}};
  program.functions.push_back(function);
  EXPECT_EQ(program.SourceNode(function, 0), "");
  EXPECT_EQ(program.SourceNode(function, 4), "a");
  EXPECT_EQ(program.SourceNode(function, 8), "a");
  EXPECT_EQ(program.SourceNode(function, 9), "b");
  EXPECT_EQ(program.SourceNode(function, 1000), "b");
  EXPECT_EQ(program.FindFunction("main"), FunctionId{0});
  EXPECT_EQ(program.FindFunction("other"), std::nullopt);
}

TEST(Status, EveryCodeHasAName) {
  for (int code = 1; code <= 9; ++code) EXPECT_STRNE(CodeName(static_cast<Code>(code)), "unknown");
  EXPECT_STREQ(CodeName(Code::kOutOfMemory), "out_of_memory");
}

TEST(TargetInfo, CpuLevelNamesComeBack) {
  for (const char* name : {"x86-64-v3", "x86-64-v4", "aarch64", "host"}) {
    ASSERT_TRUE(CpuLevelFromName(name));
    EXPECT_STREQ(CpuLevelName(*CpuLevelFromName(name)), name);
  }
  EXPECT_FALSE(CpuLevelFromName("x86-64"));
  EXPECT_EQ(TargetInfoFor(CpuLevel::kX86_64_V4).vector_bits, 512);
}

TEST(Digest, IsXxh3With128Bits) {
  // Published test vector of the empty input.
  EXPECT_EQ(DigestOf({}).Hex(), "99aa06d3014798d86001c324468d497f");
  std::vector<std::byte> bytes(1000, std::byte{5});
  DigestStream stream;
  stream.Update(std::span(bytes).first(1));
  stream.Update(std::span(bytes).subspan(1));
  EXPECT_EQ(stream.Finish(), DigestOf(bytes));
}

}  // namespace
}  // namespace tvmvm
