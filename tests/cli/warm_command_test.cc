// `tvm-vm warm`: drivers' binaries of a program's kernels, made ahead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/scratch.h"
#include "tests/require.h"
#include "tvm-vm/device_list.h"

namespace tvmvm::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WarmCommand : public ::testing::Test {
 protected:
  // The tool in the scratch folder, with a cache of its own.
  ToolResult Run(const std::string& command) {
    return RunShell("cd '" + scratch_.path() + "' && export TVMVM_CACHE_DIR='" + scratch_.path() +
                    "/cache' && " + command);
  }
  // abs.vmexe for GPUs.
  void Compile() {
    WriteBytes(scratch_ / "abs.ir",
               "symbol n: [0, inf]\nfunc @main {\n  input \"x\" = %0: tensor<f32,[n]>\n"
               "  %1 \"y\": tensor<f32,[n]> = abs(%0)\n  output \"y\" = %1\n}\n");
    ToolResult made = Run("tvm-vm compile abs.ir -o abs.vmexe --device vulkan,opencl,cpu --prefer-gpu");
    ASSERT_EQ(made.exit_code, kExitOk) << made.err;
  }

  ScratchFolder scratch_;
};

TEST_F(WarmCommand, FillsTheCacheOfADevice) {
  if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  Compile();
  bool any = false;
  for (const std::string device : {"vulkan", "opencl"}) {
    if (!OpenDevice(device, {})) continue;
    any = true;
    ToolResult result = Run("tvm-vm warm abs.vmexe --device " + device + ",cpu --json");
    ASSERT_EQ(result.exit_code, kExitOk) << result.err;
    const json report = json::parse(result.out, nullptr, false);
    ASSERT_FALSE(report.is_discarded()) << result.out;
    EXPECT_EQ(report["folder"], scratch_ / "cache");
    ASSERT_EQ(report["devices"].size(), 1u);
    EXPECT_THAT(report["devices"][0]["device"].get<std::string>(), HasSubstr(device + ":"));
    EXPECT_GT(report["devices"][0]["kernels"], 0);
    EXPECT_GT(report["devices"][0]["seconds"], 0.0);
    EXPECT_FALSE(std::filesystem::is_empty(scratch_ / "cache"));
    std::filesystem::remove_all(scratch_ / "cache");
    ToolResult text = Run("tvm-vm warm abs.vmexe --device " + device);
    EXPECT_EQ(text.exit_code, kExitOk) << text.err;
    EXPECT_THAT(text.out, HasSubstr(" are ready after "));
    std::filesystem::remove_all(scratch_ / "cache");
  }
  if (!any) TVMVM_SKIP_WITHOUT("vulkan", "this machine has no GPU");
}

TEST_F(WarmCommand, SaysWhatIsMissing) {
  EXPECT_EQ(Run("tvm-vm warm demo.vmexe").exit_code, kExitUsage);
  ToolResult cpu = Run("tvm-vm warm abs.vmexe --device cpu");
  EXPECT_EQ(cpu.exit_code, kExitFailed);
  EXPECT_THAT(cpu.err, HasSubstr("--device names no GPU"));
  ToolResult folder = Run("export TVMVM_CACHE_DIR= && tvm-vm warm abs.vmexe --device vulkan");
  EXPECT_EQ(folder.exit_code, kExitFailed);
  EXPECT_THAT(folder.err, HasSubstr("there is no folder to keep kernels in"));
  EXPECT_THAT(folder.out, IsEmpty());
  WriteBytes(scratch_ / "text", "entry @main\nfunc @main() -> () frame 1, 1 {\n  return [], []\n}\n");
  ToolResult plain = Run("tvm-vm asm text -o plain.vmexe && tvm-vm warm plain.vmexe --device null");
  EXPECT_EQ(plain.exit_code, kExitFailed);
  EXPECT_THAT(plain.err, HasSubstr("the program was not compiled for a GPU"));
  EXPECT_EQ(Run("tvm-vm warm none.vmexe --device null").exit_code, kExitFailed);
}

}  // namespace
}  // namespace tvmvm::cli
