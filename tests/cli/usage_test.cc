// Command lines and files that the tool does not take, its help and its version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/expect_tool.h"
#include "tests/cli/scratch.h"
#include "tests/require.h"

namespace tvmvm::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kCommands[] = {"compile", "run",  "bench",   "plan",       "test",   "inspect",
                                     "disasm",  "asm",  "verify",  "ops",        "keygen", "sign",
                                     "devices", "warm", "version", "completion", "man"};

TEST(UsageTest, HelpNamesEveryCommandAndTheExitCodes) {
  ToolResult result = RunShell("tvm-vm --help");
  EXPECT_EQ(result.exit_code, kExitOk);
  EXPECT_THAT(result.out, HasSubstr("Exit codes: 0 fine"));
  for (const char* command : kCommands) EXPECT_THAT(result.out, HasSubstr(command));
}

TEST(UsageTest, EveryCommandHasExamples) {
  for (std::string command : kCommands) {
    ToolResult result = RunShell("tvm-vm " + command + " --help");
    EXPECT_EQ(result.exit_code, kExitOk);
    EXPECT_THAT(result.out, HasSubstr("Examples:\n  tvm-vm " + command));
  }
}

TEST(UsageTest, WrongCommandLines) {
  ExpectUsageError("tvm-vm", "subcommand is required");
  ExpectUsageError("tvm-vm nonsense", "nonsense");
  ExpectUsageError("tvm-vm run", "model is required");
  ExpectUsageError("tvm-vm run a.vmexe --nonsense", "--nonsense");
  ExpectUsageError("tvm-vm compile -", "--output is required");
  ExpectUsageError("tvm-vm comple a.onnx", "'comple' is no command (did you mean 'compile'?)");
  ExpectUsageError("tvm-vm run a.vmexe --output-dri x", "did you mean '--output-dir'?");
  ExpectUsageError("tvm-vm run a.vmexe --dim n=1 --dim n=2", "'n' is given twice");
  ExpectUsageError("tvm-vm run a.vmexe --rtol 1", "--expect");
  ExpectUsageError("tvm-vm run a.vmexe --input x=random:4:9..2", "a range is LO..HI with LO < HI");
  ExpectUsageError("tvm-vm bench a.vmexe --clients 0", "--clients");
  ExpectUsageError("tvm-vm bench a.vmexe --shapes s --trace t", "--trace");
  ExpectUsageError("tvm-vm compile a.onnx -o b --dim n=5..4",
                   "'n=5..4': a dimension is given as NAME=N or NAME=LO..HI");
  ExpectUsageError("tvm-vm compile a.onnx -o b --device toaster", "toaster");
  ExpectUsageError("tvm-vm compile a.onnx -o b --precision fp8", "fp8");
  ExpectUsageError("tvm-vm run a.vmexe --dim n=1..4", "one number is wanted here");
  ExpectUsageError("tvm-vm run a.vmexe --input x=random:4y4", "as in random:4x128");
  ExpectUsageError("tvm-vm run a.onnx --dump all", "--output-dir");
  ExpectUsageError("tvm-vm bench a.vmexe --seconds 1 --repeat 2", "--repeat");
  ExpectUsageError("tvm-vm bench a.vmexe --seconds -1", "--seconds");
  ExpectUsageError("tvm-vm bench a.vmexe --measure", "--profile");
  for (const char* seconds : {"0", "-1", "1e12", "nan", "inf", "soon"})
    ExpectUsageError(std::string("tvm-vm run a.vmexe --timeout ") + seconds, "--timeout");
}

TEST(UsageTest, Version) {
  for (const char* command : {"tvm-vm --version", "tvm-vm -V", "tvm-vm version"})
    EXPECT_THAT(RunShell(command).out, StartsWith("tvm-vm 0.")) << command;
  EXPECT_TRUE(nlohmann::json::parse(RunShell("tvm-vm version --json").out).contains("file_format"));
}

TEST(UsageTest, HelpIsACommand) {
  EXPECT_EQ(RunShell("tvm-vm help").out, RunShell("tvm-vm --help").out);
  EXPECT_EQ(RunShell("tvm-vm help run").out, RunShell("tvm-vm run --help").out);
}

TEST(UsageTest, ErrorsAreJsonWhereMachinesRead) {
  ToolResult result = RunShell("tvm-vm run /nowhere/a.vmexe --json");
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_EQ(nlohmann::json::parse(result.out)["error"]["code"], "not_found");
}

TEST(BadFileTest, MissingFiles) {
  for (std::string command : {"run", "bench", "inspect", "disasm", "verify"})
    ExpectFailure("tvm-vm " + command + " /nowhere/a.vmexe", "/nowhere/a.vmexe");
  ExpectFailure("tvm-vm asm /nowhere/a.vmasm -o /nowhere/b.vmexe", "/nowhere/a.vmasm");
  ExpectFailure("tvm-vm test /nowhere/tests", "no such folder: '/nowhere/tests'");
  ScratchFolder scratch;
  ExpectFailure("tvm-vm test '" + scratch.path() + "'", "holds no test");
}

TEST(BadFileTest, WhatIsNoProgram) {
  ScratchFolder scratch;
  WriteBytes(scratch / "empty.vmexe", "");
  WriteBytes(scratch / "text.vmexe", std::string(10000, 'x'));
  for (std::string file : {"empty.vmexe", "text.vmexe"})
    for (std::string command : {"run", "bench", "inspect", "disasm", "verify"})
      ExpectFailure("tvm-vm " + command + " '" + (scratch / file) + "'", file);
}

TEST(BadFileTest, WhatIsNoModel) {
  if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  ExpectFailure("tvm-vm compile /nowhere/a.onnx -o /nowhere/b.vmexe", "/nowhere/a.onnx");
  ScratchFolder scratch;
  WriteBytes(scratch / "text.onnx", std::string(10000, 'x'));
  ExpectFailure("tvm-vm compile '" + (scratch / "text.onnx") + "' -o '" + (scratch / "out.vmexe") + "'",
                "text.onnx");
  EXPECT_THAT(scratch.Names(), ElementsAre("text.onnx"));
}

TEST(BadFileTest, AssemblyErrorsSayWhere) {
  ScratchFolder scratch;
  WriteBytes(scratch / "a.vmasm", "func @main() {\n  nonsense i0\n}\n");
  ExpectFailure("tvm-vm asm '" + (scratch / "a.vmasm") + "' -o '" + (scratch / "a.vmexe") + "'",
                "a.vmasm': ");
  EXPECT_THAT(scratch.Names(), ElementsAre("a.vmasm"));
}

}  // namespace
}  // namespace tvmvm::cli
