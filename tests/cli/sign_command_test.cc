// `tvm-vm keygen`, `sign`, `verify --key` and `--trust`, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/scratch.h"
#include "tests/folders.h"
#include "tests/program_texts.h"
#include "tests/require.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;

class SignCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteBytes(scratch_ / "add.vmasm", ::tvmvm::testing::kAddOne);
    Fine("tvm-vm asm add.vmasm -o add.vmexe && tvm-vm keygen mine && tvm-vm keygen other");
  }
  ToolResult In(const std::string& command) { return RunShell("cd '" + scratch_.path() + "'; " + command); }
  void Fine(const std::string& command) {
    ToolResult result = In(command);
    EXPECT_EQ(result.exit_code, kExitOk) << command << "\n" << result.err;
  }
  void Fails(const std::string& command, const std::string& message) {
    ToolResult result = In(command);
    EXPECT_EQ(result.exit_code, kExitFailed) << command << "\n" << result.out << result.err;
    EXPECT_THAT(result.err, HasSubstr(message)) << command;
  }

  ScratchFolder scratch_;
};

TEST_F(SignCommandTest, SignsAndVerifies) {
  Fails("tvm-vm verify add.vmexe --key mine.pub", "add.vmexe: the file is not signed");
  Fine("tvm-vm sign add.vmexe --key mine -o signed.vmexe");
  Fine("tvm-vm verify signed.vmexe --key mine.pub");
  Fine("tvm-vm verify signed.vmexe --key other.pub --key mine.pub");
  Fine("tvm-vm verify signed.vmexe add.vmexe");
  Fails("tvm-vm verify signed.vmexe --key other.pub", "wanted one of the trusted keys: ");
  Fine("tvm-vm sign signed.vmexe --key other");
  Fine("tvm-vm verify signed.vmexe --key mine.pub");
  Fine("tvm-vm verify signed.vmexe --key other.pub");
  Fine("tvm-vm sign add.vmexe --key mine");
  ToolResult json = In("tvm-vm verify add.vmexe --key other.pub --json");
  EXPECT_EQ(json.exit_code, kExitFailed);
  EXPECT_THAT(nlohmann::json::parse(json.out)[0]["error"].get<std::string>(), HasSubstr("signed by"));
}

TEST_F(SignCommandTest, KeysAreLookedAfter) {
  struct stat info {};
  ASSERT_EQ(stat((scratch_ / "mine").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  Fails("tvm-vm keygen mine", "File exists");
  Fails("chmod 644 mine && tvm-vm sign add.vmexe --key mine",
        "others than its owner may use this secret key");
  Fails("tvm-vm sign add.vmexe --key other.pub", "other");
  Fails("tvm-vm verify add.vmexe --key other", "a secret key, wanted a public key");
  Fails("tvm-vm sign absent.vmexe --key other", "absent.vmexe");
  EXPECT_EQ(In("tvm-vm sign add.vmexe").exit_code, kExitUsage);
}

TEST_F(SignCommandTest, LinksStayLinks) {
  Fine("ln -s add.vmexe link.vmexe && tvm-vm sign link.vmexe --key mine && test -L link.vmexe");
  Fine("tvm-vm verify add.vmexe --key mine.pub");
}

// A build, or an installation, that lacks it.
TEST_F(SignCommandTest, WithoutItsLibraryNothingIsSigned) {
  Fine("tvm-vm sign add.vmexe --key mine -o signed.vmexe && mkdir bin && cp '" + ToolPath() + "' '" +
       BuildPath() + "'/libtvm-vm.so.* '" + BuildPath() + "'/libtvm-vm-sandbox.so.* bin");
  const std::string missing = "the library of signatures is not there";
  const std::string tool = "LD_LIBRARY_PATH=$PWD/bin bin/tvm-vm ";
  if (In(tool + "version").exit_code != kExitOk) GTEST_SKIP() << "this tool does not run elsewhere";
  Fails(tool + "keygen another", missing);
  Fails(tool + "sign add.vmexe --key mine", missing);
  Fails(tool + "verify signed.vmexe --key mine.pub", missing);
  Fine(tool + "run signed.vmexe -i 1");
}

TEST_F(SignCommandTest, TrustIsAskedForInRunAndBench) {
  Fine("tvm-vm run add.vmexe -i 1 --trust none");  // it has no kernels
  Fine("tvm-vm run add.vmexe -i 1 --trust signed --key mine.pub");
  Fails("tvm-vm run add.vmexe -i 1 --trust signed", "--key names no public key to trust");
  Fails("tvm-vm run add.vmexe -i 1 --trust signed-kernels", "--key names no public key to trust");
  EXPECT_EQ(In("tvm-vm run add.vmexe --key mine.pub").exit_code, kExitUsage);
  EXPECT_EQ(In("tvm-vm run add.vmexe --trust some").exit_code, kExitUsage);
  if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  WriteBytes(scratch_ / "abs.ir",
             "symbol n: [0, inf]\nfunc @main {\n  input \"x\" = %0: tensor<f32,[n]>\n"
             "  %1 \"y\": tensor<f32,[n]> = abs(%0)\n  output \"y\" = %1\n}\n");
  Fine("tvm-vm compile abs.ir -o abs.vmexe && tvm-vm sign abs.vmexe --key mine -o signed.vmexe");
  for (const std::string command : {"run", "bench --repeat 1"}) {
    Fine("tvm-vm " + command + " signed.vmexe --trust signed --key mine.pub --check-constants");
    Fine("tvm-vm " + command + " signed.vmexe --trust signed-kernels --key mine.pub");
    Fails("tvm-vm " + command + " signed.vmexe --trust signed-kernels --key other.pub", "signed by ");
    Fine("tvm-vm " + command + " abs.ir --trust none");  // compiled here
    Fails("tvm-vm " + command + " signed.vmexe --trust none", "kernels are refused: no kernels are trusted");
    Fails("tvm-vm " + command + " signed.vmexe --trust signed --key other.pub", "signed by ");
    Fails("tvm-vm " + command + " abs.vmexe --trust signed --key mine.pub", "it is not signed");
    Fails("tvm-vm " + command + " - --trust none < signed.vmexe", "kernels are refused");
  }
  // A program by another name is none that the tool compiled.
  Fails("cp abs.vmexe abs.onnx && tvm-vm run abs.onnx --trust none", "kernels are refused");
}

}  // namespace
}  // namespace tvmvm::cli
