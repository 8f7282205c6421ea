// The demo model, x[batch, length, 64] -> y of the same shape, compiled once for all tests that use it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/cli/expect_tool.h"
#include "tests/cli/scratch.h"
#include "tests/folders.h"
#include "tests/require.h"

namespace tvmvm::cli {

class DemoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  }
  static void SetUpTestSuite() {
    if (!TVMVM_HAS_COMPILER) return;
    folder_ = new ScratchFolder;
    std::string make = BuildPath("make_demo_model");
    ToolResult result = RunShell("'" + make + "' '" + Onnx() + "' && tvm-vm compile '" + Onnx() + "' -o '" +
                                 Vmexe() + "' --json");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    compile_output_ = result.out;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string Onnx() { return *folder_ / "demo.onnx"; }
  static std::string Vmexe() { return *folder_ / "demo.vmexe"; }
  // Runs the tool in `scratch_` with the demo files at hand as $onnx and $vmexe.
  ToolResult Run(const std::string& command) const { return RunShell(InScratch(command)); }
  std::string InScratch(const std::string& command) const {
    return "cd '" + scratch_.path() + "'; onnx='" + Onnx() + "'; vmexe='" + Vmexe() + "'; " + command;
  }
  void ExpectFails(const std::string& command, const std::string& message) const {
    ExpectFailure(InScratch(command), message);
  }

  ScratchFolder scratch_;
  static inline ScratchFolder* folder_ = nullptr;
  static inline std::string compile_output_;
};

}  // namespace tvmvm::cli
