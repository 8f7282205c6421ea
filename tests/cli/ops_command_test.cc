// `tvm-vm ops`: the operator table, what a model needs, and docs/operators.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/console.h"
#include "tests/cli/scratch.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"
#include "tests/require.h"

namespace tvmvm::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class OpsCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  }
  ScratchFolder scratch_;
};

TEST_F(OpsCommandTest, DocumentIsFresh) {
  const std::string path = SourcePath("docs/operators.md");
  ToolResult result = RunShell("tvm-vm ops --markdown");
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  if (UpdateGolden()) std::ofstream(path, std::ios::binary) << result.out;
  EXPECT_EQ(ReadText(path), result.out) << "tvm-vm ops --markdown > docs/operators.md makes it anew";
}

TEST_F(OpsCommandTest, TableAsJson) {
  json table = json::parse(RunShell("tvm-vm ops --json").out, nullptr, false);
  ASSERT_TRUE(table.is_array());
  auto row = std::ranges::find_if(
      table, [](const json& each) { return each["operator"] == "Reshape" && each["since"] == 1; });
  ASSERT_NE(row, table.end());
  EXPECT_EQ((*row)["domain"], "ai.onnx");
  EXPECT_EQ((*row)["until"], 4);
  EXPECT_EQ((*row)["types_of"], "input 0");
  EXPECT_EQ((*row)["devices"], json({"cpu", "opencl", "vulkan"}));
  EXPECT_EQ((*row)["types"].size(), 26u);
}

// What is missing has a reason, and no row.
TEST_F(OpsCommandTest, MissingOperators) {
  json table = json::parse(RunShell("tvm-vm ops --json").out, nullptr, false);
  ASSERT_TRUE(table.is_array());
  std::set<std::pair<std::string, std::string>> supported, missing;
  for (const json& row : table) {
    std::pair<std::string, std::string> key{row["domain"], row["operator"]};
    if (!row.contains("missing")) {
      supported.insert(key);
      continue;
    }
    EXPECT_TRUE(missing.insert(key).second) << key.second;
    EXPECT_FALSE(row["missing"].get<std::string>().empty()) << key.second;
  }
  for (const auto& key : missing) EXPECT_FALSE(supported.contains(key)) << key.second;
  EXPECT_TRUE(missing.contains({"com.microsoft", "BeamSearch"}));
  EXPECT_TRUE(supported.contains({"com.microsoft", "QMoE"}));
  EXPECT_THAT(RunShell("tvm-vm ops").out, HasSubstr("com.microsoft.Tokenizer"));
}

TEST_F(OpsCommandTest, ModelWithAMissingOperator) {
  ir::GraphText graph{{{"Tokenizer", {"x"}, {"y"}, {}, "", "com.microsoft"}},
                      {ir::ValueMessage("x", ir::kOnnxFloat, {2})},
                      {ir::ValueMessage("y", ir::kOnnxFloat, {2})}};
  WriteBytes(scratch_ / "model.onnx", ir::ModelMessage(graph));
  ToolResult result = RunShell("tvm-vm ops --model '" + scratch_ / "model.onnx" + "'");
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_THAT(result.out, HasSubstr("com.microsoft.Tokenizer"));
}

TEST_F(OpsCommandTest, ModelWithGraphsAndFunctions) {
  const std::string x = ir::ValueMessage("x", ir::kOnnxFloat, {2});
  ir::NodeText relu{"Relu", {"x"}, {"r"}};
  std::string branch =
      ir::GraphMessage({{relu, {"Nonsense", {"r"}, {"b"}}}, {}, {ir::ValueMessage("b", 1, {2})}});
  ir::NodeText choice{"If", {"c"}, {"i"}};
  choice.attributes = {ir::GraphAttribute("then_branch", branch), ir::GraphAttribute("else_branch", branch)};
  ir::NodeText call{"Twice", {"x"}, {"t"}, {}, "", "own"};
  ir::NodeText odd{"Relu", {"x"}, {"o"}, {ir::IntAttribute("oddity", 1)}};
  ir::FunctionText twice{"own", "Twice", {"x"}, {"y"}, {{"Add", {"x", "x"}, {"y"}}}};
  ir::FunctionText unused{"own", "Unused", {"x"}, {"y"}, {{"Sub", {"x", "x"}, {"y"}}}};
  ir::GraphText graph{{choice, call, odd}, {x, ir::ValueMessage("c", ir::kOnnxBool, {})}, {x}};
  WriteBytes(scratch_ / "model.onnx", ir::ModelMessage(graph, 13, 8, {twice, unused}));

  ToolResult result = RunShell("tvm-vm ops --json --model '" + scratch_ / "model.onnx" + "'");
  EXPECT_EQ(result.exit_code, kExitFailed);
  json want = json::parse(R"([
    {"domain": "ai.onnx", "operator": "Add", "version": 13, "count": 1, "supported": true},
    {"domain": "ai.onnx", "operator": "If", "version": 13, "count": 1, "supported": true},
    {"domain": "ai.onnx", "operator": "Nonsense", "version": 13, "count": 2, "supported": false,
     "problem": "no such operator in this version"},
    {"domain": "ai.onnx", "operator": "Relu", "version": 13, "count": 3, "supported": true}])");
  EXPECT_EQ(json::parse(result.out, nullptr, false), want) << result.out;
}

TEST_F(OpsCommandTest, ModelThatIsSupported) {
  ir::GraphText graph{{{"Relu", {"x"}, {"y"}}},
                      {ir::ValueMessage("x", ir::kOnnxFloat, {2})},
                      {ir::ValueMessage("y", ir::kOnnxFloat, {2})}};
  WriteBytes(scratch_ / "model.onnx", ir::ModelMessage(graph));
  ToolResult result = RunShell("tvm-vm ops --model '" + scratch_ / "model.onnx" + "'");
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.out, "ai.onnx.Relu  13  1 x  supported\n");
}

TEST_F(OpsCommandTest, NoModel) {
  ToolResult result = RunShell("tvm-vm ops --model /nowhere/a.onnx");
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_THAT(result.err, HasSubstr("/nowhere/a.onnx"));
}

}  // namespace
}  // namespace tvmvm::cli
