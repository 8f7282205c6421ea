// What the tool says about models that break ONNX's rules, and about dims of one name that differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/scratch.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/require.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ForeignModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
    ir::NodeText relu{"Relu", {"s"}, {"y"}, {ir::IntAttribute("oddity", 1)}, "odd"};
    ir::NodeText sum{"Add", {"a", "b"}, {"s"}};
    ir::GraphText graph{{relu, sum},
                        {ir::ValueMessage("a", ir::kOnnxFloat, {"n", int64_t{2}}),
                         ir::ValueMessage("b", ir::kOnnxFloat, {"n", int64_t{2}})},
                        {ir::UntypedValue("y")}};
    WriteBytes(scratch_ / "model.onnx", ir::ModelMessage(graph));
  }
  ToolResult Run(const std::string& command) const {
    return RunShell("cd '" + scratch_.path() + "' && " + command);
  }

  ScratchFolder scratch_;
};

constexpr const char* kSorted = "warning: nodes are not in execution order: they are sorted";
constexpr const char* kIgnored =
    "warning: operator ai.onnx.Relu version 13 has no attribute 'oddity': it is ignored: node 'odd'";

TEST_F(ForeignModelTest, WarningsSayWhatIsAssumed) {
  ToolResult result = Run("tvm-vm compile model.onnx -o a.vmexe --json");
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.err, HasSubstr(kSorted));
  EXPECT_THAT(result.err, HasSubstr(kIgnored));
  nlohmann::json json = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.out;
  EXPECT_EQ(json["warnings"].size(), 2u);
  result = Run("tvm-vm run model.onnx --dim n=3");
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.err, HasSubstr(kSorted));
}

TEST_F(ForeignModelTest, StrictOnnxMakesThemErrors) {
  std::filesystem::create_directories(scratch_ / "test_data_set_0");
  for (const char* command :
       {"compile model.onnx -o a.vmexe", "run model.onnx", "bench model.onnx --repeat 1", "test ."}) {
    ToolResult result = Run(std::string("tvm-vm ") + command + " --strict-onnx");
    EXPECT_EQ(result.exit_code, kExitFailed) << command << result.out << result.err;
    EXPECT_THAT(result.out + result.err, HasSubstr("not as ONNX wants it: nodes are not in execution order"))
        << command;
    EXPECT_THAT(result.out + result.err, HasSubstr("has no attribute 'oddity'")) << command;
  }
  EXPECT_THAT(scratch_.Names(), Not(testing::Contains("a.vmexe")));
}

TEST_F(ForeignModelTest, DimsOfOneNameThatDiffer) {
  const std::string inputs = " --input a=random:1x2 --input b=random:3x2";
  ToolResult result = Run("tvm-vm run model.onnx" + inputs);
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_THAT(result.err, HasSubstr("dimension 0 must be n = 1 as in dimension 0 of input 'a'"));
  EXPECT_THAT(result.err, HasSubstr("--distinct-dims"));
  result = Run("tvm-vm run model.onnx --distinct-dims" + inputs);
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[3, 2]"));
  result = Run("tvm-vm compile model.onnx -o a.vmexe --distinct-dims && tvm-vm run a.vmexe" + inputs);
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[3, 2]"));
  // What cannot be is still an error of the run.
  result = Run("tvm-vm run a.vmexe --input a=random:2x2 --input b=random:3x2");
  EXPECT_EQ(result.exit_code, kExitFailed) << result.out;
}

}  // namespace
}  // namespace tvmvm::cli
