// The tool with a program that has no kernels, assembled from text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/expect_tool.h"
#include "tests/cli/scratch.h"
#include "tests/program_texts.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;

std::string NpyOf(int64_t number) {
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }";
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\0v\0", 10) + header + "\n" +
         std::string(reinterpret_cast<const char*>(&number), 8);
}

class AssembledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteBytes(scratch_ / "f.vmasm", testing::kFactorial);
    WriteBytes(scratch_ / "x.npy", NpyOf(10));
    ToolResult result = Run("tvm-vm asm f.vmasm -o f.vmexe");
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  std::string InScratch(const std::string& command) const {
    return "cd '" + scratch_.path() + "'; " + command;
  }
  ToolResult Run(const std::string& command) const { return RunShell(InScratch(command)); }

  ScratchFolder scratch_;
};

TEST_F(AssembledTest, Runs) {
  ToolResult result = Run("tvm-vm run f.vmexe --input x.npy --output-dir out");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "y: i64[1] [3628800]\n");
  EXPECT_EQ(ReadBytes(scratch_ / "out/y.npy"), NpyOf(3628800));
}

TEST_F(AssembledTest, ComparesWithWhatIsExpected) {
  WriteBytes(scratch_ / "good.npy", NpyOf(3628800));
  WriteBytes(scratch_ / "wrong.npy", NpyOf(3628801));
  EXPECT_EQ(Run("tvm-vm run f.vmexe --input x.npy --expect good.npy").exit_code, kExitOk);
  ToolResult wrong = Run("tvm-vm run f.vmexe --input x.npy --expect y=wrong.npy");
  EXPECT_EQ(wrong.exit_code, kExitFailed);
  EXPECT_THAT(wrong.err,
              HasSubstr("output 'y': 1 of 1 elements differ, worst at [0]: 3628800, want 3628801"));
}

TEST_F(AssembledTest, RunTimeErrorsNameTheNode) {
  WriteBytes(scratch_ / "x.npy", NpyOf(100));  // 100! is beyond 64 bits
  ExpectFailure(InScratch("tvm-vm run f.vmexe --input x.npy"), "(node /factorial (Mul))");
}

TEST_F(AssembledTest, InputsAreValues) {
  for (const char* input : {"x=10", "x=[10]", "10", "[10]", "x=random:1:10..11", "x=random:10..11"}) {
    ToolResult result = Run(std::string("tvm-vm run f.vmexe --input '") + input + "'");
    EXPECT_EQ(result.exit_code, 0) << input << result.err;
    EXPECT_EQ(result.out, "y: i64[1] [3628800]\n") << input;
  }
  ExpectFailure(InScratch("tvm-vm run f.vmexe --input 'x=[[1]]' -q"), "x");
  ExpectFailure(InScratch("tvm-vm run f.vmexe --input x=1.5 -q"),
                "input 'x' = 1.5: 1.5 is no i64, i64[1] is wanted");
  ExpectFailure(InScratch("tvm-vm run f.vmexe --input z=1 -q"), "the model has no input 'z'");
}

TEST_F(AssembledTest, InputsAreRawBytesAndStandardInput) {
  const int64_t ten = 10;
  WriteBytes(scratch_ / "x.bin", std::string(reinterpret_cast<const char*>(&ten), sizeof ten));
  for (const char* command : {"tvm-vm run f.vmexe -i x.bin", "tvm-vm run f.vmexe -i x=x.bin:1",
                              "tvm-vm run f.vmexe -i x=- <x.npy", "tvm-vm run f.vmexe -i - <x.bin"}) {
    ToolResult result = Run(command);
    EXPECT_EQ(result.out, "y: i64[1] [3628800]\n") << command << result.err;
  }
  ExpectFailure(InScratch("tvm-vm run f.vmexe -i x=x.bin:2"), "'x.bin': 8 bytes, i64[2] has 16");
  ExpectFailure(InScratch("tvm-vm run f.vmexe -i - </dev/null"), "standard input holds nothing");
}

TEST_F(AssembledTest, TheDisassemblyAssemblesToTheSameFile) {
  ToolResult result =
      Run("tvm-vm disasm f.vmexe -o again.vmasm && tvm-vm asm again.vmasm -o again.vmexe && cmp f.vmexe "
          "again.vmexe");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST_F(AssembledTest, EveryFlippedByteIsFoundOrHarmless) {
  std::string whole = ReadBytes(scratch_ / "f.vmexe");
  for (size_t at = 0; at < whole.size(); at += 37) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    WriteBytes(scratch_ / "flipped.vmexe", flipped);
    EXPECT_LE(Run("tvm-vm verify flipped.vmexe && tvm-vm run flipped.vmexe --input x.npy").exit_code,
              kExitFailed)
        << at;
  }
}

TEST_F(AssembledTest, VerifyReportsEachFile) {
  EXPECT_EQ(Run("tvm-vm verify f.vmexe f.vmexe").out, "f.vmexe: valid\nf.vmexe: valid\n");
  ToolResult mixed = Run("tvm-vm verify f.vmexe x.npy --json");
  EXPECT_EQ(mixed.exit_code, kExitFailed);
  nlohmann::json json = nlohmann::json::parse(mixed.out);
  EXPECT_EQ(json[0]["valid"], true);
  EXPECT_EQ(json[1]["valid"], false);
  EXPECT_THAT(json[1]["error"], HasSubstr("x.npy"));
}

TEST_F(AssembledTest, AFullDiskIsAnError) {
  ExpectFailure(InScratch("tvm-vm asm f.vmasm -o /dev/full"), "/dev/full': No space left on device (io)");
  ExpectFailure(InScratch("tvm-vm verify f.vmexe >/dev/full"),
                "standard output: No space left on device (io)");
  ExpectFailure(InScratch("mkdir d.bin; tvm-vm run f.vmexe -i d.bin"), "Is a directory (io)");
  ExpectFailure(InScratch("tvm-vm asm f.vmasm -o /proc/a.vmexe"), "/proc/a.vmexe");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace tvmvm::cli
