// `tvm-vm run --sandbox`, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/expect_tool.h"
#include "tests/program_texts.h"
#include "tests/sanitizer.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;

class SandboxCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers do not live in the sandbox";
    WriteBytes(scratch_ / "add.vmasm", ::tvmvm::testing::kAddOne);
    WriteBytes(scratch_ / "factorial.vmasm", ::tvmvm::testing::kFactorial);
    ToolResult result =
        In("tvm-vm asm add.vmasm -o add.vmexe && tvm-vm asm factorial.vmasm -o factorial.vmexe");
    ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  }
  ToolResult In(const std::string& command) { return RunShell("cd '" + scratch_.path() + "'; " + command); }

  ScratchFolder scratch_;
};

TEST_F(SandboxCommandTest, GivesWhatItGivesWithout) {
  const ToolResult here = In("tvm-vm run add.vmexe -i 41"),
                   there = In("tvm-vm run add.vmexe -i 41 --sandbox");
  EXPECT_EQ(there.exit_code, kExitOk) << there.err;
  EXPECT_EQ(there.out, here.out);
  EXPECT_THAT(there.err, HasSubstr("in a process of its own"));
  EXPECT_EQ(In("tvm-vm run - -i 41 --sandbox < add.vmexe").out, here.out);
  const ToolResult json = In("tvm-vm run add.vmexe -i 41 --sandbox --json");
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["sandbox"], true);
  EXPECT_EQ(parsed["outputs"][0]["name"], "y");
}

TEST_F(SandboxCommandTest, LimitsAndErrorsAreTheRuns) {
  ExpectFailure("cd '" + scratch_.path() + "'; tvm-vm run factorial.vmexe -i 1000 --sandbox --max-steps 100",
                "deadline_exceeded");
  ExpectFailure("tvm-vm run /absent.vmexe --sandbox", "/absent.vmexe");
}

TEST_F(SandboxCommandTest, GoesWithNothingThatIsTrusted) {
  for (const char* option : {"--trust any", "--no-native", "--device cpu"}) {
    const ToolResult result = In(std::string("tvm-vm run add.vmexe -i 1 --sandbox ") + option);
    EXPECT_EQ(result.exit_code, kExitUsage) << option << result.err;
  }
}

}  // namespace
}  // namespace tvmvm::cli
