// Manual pages and completions, from outside: they hold every command and option, and their readers take
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/scratch.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

bool Has(const std::string& program) { return RunShell("command -v " + program).exit_code == 0; }

TEST(CompletionTest, ShellsTakeThem) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    ToolResult script = RunShell(std::string("tvm-vm completion ") + shell);
    ASSERT_EQ(script.exit_code, 0) << script.err;
    for (const char* word : {"compile", "bench", "output-dir", "clients"})
      EXPECT_THAT(script.out, HasSubstr(word)) << shell;
    if (!Has(shell)) continue;
    ToolResult checked =
        RunShell(std::string("tvm-vm completion ") + shell + " >/dev/shm/tvm-vm-$$; " + shell +
                 " -n /dev/shm/tvm-vm-$$; code=$?; rm /dev/shm/tvm-vm-$$; (exit $code)");
    EXPECT_EQ(checked.exit_code, 0) << shell << checked.err;
  }
  EXPECT_EQ(RunShell("tvm-vm completion tcsh").exit_code, 2);
}

// What bash answers for the words.
std::string Completed(const std::string& words, int last) {
  return RunShell("source <(tvm-vm completion bash); compopt() { :; }; COMP_WORDS=(" + words +
                  "); COMP_CWORD=" + std::to_string(last) + "; _tvm_vm; echo \"${COMPREPLY[@]}\"")
      .out;
}

TEST(CompletionTest, BashKnowsCommandsOptionsAndValues) {
  EXPECT_EQ(Completed("tvm-vm comp", 1), "compile completion\n");
  EXPECT_EQ(Completed("tvm-vm run --output", 2), "--output-dir\n");
  EXPECT_EQ(Completed("tvm-vm compile --weights ''", 3), "int8 int4 as-given\n");
  EXPECT_EQ(Completed("tvm-vm run --device vu", 3), "vulkan\n");
  EXPECT_EQ(Completed("tvm-vm completion ''", 2), "bash zsh fish\n");
}

TEST(ManTest, PagesHaveEveryOption) {
  EXPECT_THAT(RunShell("tvm-vm man").out, HasSubstr("\\fBcompile\\fR"));
  const std::string page = RunShell("tvm-vm man run").out;
  for (const char* part : {".TH tvm\\-vm\\-run 1", ".SH EXAMPLES", "\\-\\-output\\-dir", ".SH SEE ALSO"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(RunShell("tvm-vm man rum").err, HasSubstr("'rum' is no command (did you mean 'run'?)"));
  if (!Has("groff")) GTEST_SKIP() << "no groff here";
  for (const char* command : {"", "compile", "run", "bench", "devices"})
    EXPECT_THAT(RunShell(std::string("tvm-vm man ") + command + " | groff -man -Tascii -ww -z").err,
                IsEmpty())
        << command;
}

}  // namespace
}  // namespace tvmvm::cli
