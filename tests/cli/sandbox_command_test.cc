// `tvm-vm run --sandbox` and `tvm-vm bench --sandbox`, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/expect_tool.h"
#include "tests/program_texts.h"
#include "tests/sanitizer.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

TEST_F(SandboxCommandTest, CallsAreTimed) {
  const ToolResult text = In("tvm-vm bench add.vmexe --repeat 3 --clients 2 --sandbox");
  EXPECT_EQ(text.exit_code, kExitOk) << text.err;
  EXPECT_THAT(text.out, HasSubstr("1 thread, 2 clients"));
  EXPECT_THAT(text.out, HasSubstr("each client in a process of its own"));
  EXPECT_THAT(text.out, HasSubstr("6 runs: mean"));
  EXPECT_THAT(text.out, Not(HasSubstr("peak memory")));
  const auto json = nlohmann::json::parse(In("tvm-vm bench add.vmexe --repeat 3 --sandbox --json").out);
  EXPECT_EQ(json["sandbox"], true);
  EXPECT_EQ(json["runs"], 3);
  for (const char* unknown : {"peak_bytes", "held_bytes", "planned_bytes", "devices"})
    EXPECT_FALSE(json.contains(unknown)) << unknown;
  const ToolResult rows =
      In("printf 'x=[1]\\nx=[2]\\n' | tvm-vm bench add.vmexe --shapes - --repeat 2 --sandbox "
         "--times times.csv && wc -l < times.csv");
  EXPECT_EQ(rows.exit_code, kExitOk) << rows.err;
  EXPECT_THAT(rows.out, HasSubstr("x=[2]"));
  EXPECT_THAT(rows.out, HasSubstr("\n5\n")) << "a head and four runs";
  ExpectFailure(
      "cd '" + scratch_.path() + "'; tvm-vm bench factorial.vmexe -i 1000 --sandbox --max-steps 100",
      "deadline_exceeded");
  for (const char* option :
       {"--profile", "--resident", "--trace trace.json", "--memory-pool 1M", "--trust any"})
    EXPECT_EQ(In(std::string("tvm-vm bench add.vmexe --sandbox ") + option).exit_code, kExitUsage) << option;
}

}  // namespace
}  // namespace tvmvm::cli
