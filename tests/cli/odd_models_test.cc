// What the tool says and does for models that are small and odd: names with '=', shapes that are known too
// late, types that are declared wrongly, casts of what does not fit; and how it names kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/scratch.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/require.h"

namespace tvmvm::cli {
namespace {

using ir::ValueMessage;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class OddModelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  }
  void Write(const ir::GraphText& graph) const {
    WriteBytes(scratch_ / "model.onnx", ir::ModelMessage(graph));
  }
  ToolResult Run(const std::string& command) const {
    return RunShell("cd '" + scratch_.path() + "' && " + command);
  }

  ScratchFolder scratch_;
};

TEST_F(OddModelsTest, NamesMayHaveAnEqualsSign) {
  Write({{{"Neg", {"a/b=c"}, {"y"}}},
         {ValueMessage("a/b=c", ir::kOnnxFloat, {"n"})},
         {ValueMessage("y", ir::kOnnxFloat, {"n"})}});
  EXPECT_EQ(Run("tvm-vm run model.onnx -i 'a/b=c=[1,2]' --output-dir - >y.npy").exit_code, kExitOk);
  for (const char* input : {"a/b=c=[-1,-2]", "a/b=c=y.npy", "y.npy"}) {
    const ToolResult result = Run(std::string("tvm-vm run model.onnx -i '") + input + "'");
    EXPECT_EQ(result.out, "y: f32[2] [1, 2]\n") << input << result.err;
  }
}

TEST_F(OddModelsTest, ExpandToAShapeThatDoesNotBroadcastIsAnError) {
  Write({{{"Expand", {"x", "shape"}, {"y"}, {}, "/wide"}},
         {ValueMessage("x", ir::kOnnxFloat, {2, 4}), ValueMessage("shape", ir::kOnnxInt64, {2})},
         {ir::UntypedValue("y")}});
  EXPECT_THAT(Run("tvm-vm run model.onnx -i x=1 -i 'shape=[2,1]'").out, HasSubstr("f32[2, 4]"));
  for (const char* shape :
       {"[3,3]", "[8,1]", "[0,0]", "[-1,-1]", "[-5,2]", "[9223372036854775807,9223372036854775807]"}) {
    const ToolResult result = Run(std::string("tvm-vm run model.onnx -i x=1 -i 'shape=") + shape + "'");
    EXPECT_EQ(result.exit_code, kExitFailed) << shape << result.out;
    EXPECT_THAT(result.err, HasSubstr("(node /wide (Expand))")) << shape;
  }
}

TEST_F(OddModelsTest, WrongDeclaredTypesArePrinted) {
  Write({{{"Neg", {"x"}, {"y"}}},
         {ValueMessage("x", ir::kOnnxFloat, {2})},
         {ValueMessage("y", ir::kOnnxInt64, {2})}});
  EXPECT_THAT(Run("tvm-vm run model.onnx").err,
              HasSubstr("declared with another type (i64[2]) than the computed"));
}

// As ONNX Runtime and NumPy do, which ONNX leaves open.
TEST_F(OddModelsTest, CastsToBytesTakeTheLowOnes) {
  Write({{{"Cast", {"x"}, {"y"}, {ir::IntAttribute("to", ir::kOnnxUint8)}}},
         {ValueMessage("x", ir::kOnnxFloat, {"n"})},
         {ValueMessage("y", ir::kOnnxUint8, {"n"})}});
  const ToolResult text = Run("tvm-vm run model.onnx -i 'x=[-1.6, 300, 2.5]'");
  EXPECT_EQ(text.out, "y: u8[3] [255, 44, 2]\n");
  EXPECT_THAT(text.err, HasSubstr(", 1 kernel on cpu"));  // not "1 kernels"
  const json output =
      json::parse(Run("tvm-vm run model.onnx -i 'x=[-1.6, 300, 2.5]' --json").out)["outputs"][0];
  EXPECT_EQ(output["values"], json({255, 44, 2}));
  EXPECT_EQ(output["min"], 2);
  EXPECT_EQ(output["max"], 255);
  EXPECT_NEAR(output["mean"].get<double>(), 301 / 3.0, 1e-9);
}

// The operator that a person looks for in a picture of the model, though others are computed with it.
TEST_F(OddModelsTest, KernelsAreNamedForWhatTheyAreAbout) {
  const std::vector<float> ones(8, 1);
  auto vector = [&](const char* name) {
    return ir::TensorMessage(name, ir::kOnnxFloat, {8}, ir::RawBytes(ones));
  };
  const std::string weights =
      ir::TensorMessage("w", ir::kOnnxFloat, {8, 3, 3, 3}, ir::RawBytes(std::vector<float>(216, 0.1f)));
  Write({{{"Conv", {"x", "w"}, {"c"}, {ir::IntsAttribute("pads", {1, 1, 1, 1})}, "Conv_412"},
          {"BatchNormalization",
           {"c", "scale", "bias", "mean", "variance"},
           {"d"},
           {},
           "BatchNormalization_413"},
          {"Relu", {"d"}, {"y"}, {}, "Relu_414"}},
         {ValueMessage("x", ir::kOnnxFloat, {1, 3, "height", "width"})},
         {ir::UntypedValue("y")},
         {weights, vector("scale"), vector("bias"), vector("mean"), vector("variance")}});
  const ToolResult result =
      Run("export TVMVM_CACHE_DIR=$PWD; tvm-vm bench model.onnx --dim height=32 --dim width=32 --threads 1 "
          "--repeat 3 --profile --json");
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  const json kernels = json::parse(result.out)["kernels"];
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_THAT(kernels[0]["source_node"].get<std::string>(), ::testing::StartsWith("Conv_412 (Conv)"));
  EXPECT_GT(kernels[0]["bytes"], 0);
  EXPECT_EQ(kernels[0]["launches"], 1);  // of one run, not of all
}

// Words of ours, not of the library that reads the command line.
TEST(HelpTest, HoldsNoTextOfTheParser) {
  for (const char* command : {"", "compile", "run", "bench", "test", "plan", "inspect", "warm", "sign"}) {
    const ToolResult help = RunShell(std::string("tvm-vm ") + command + " --help");
    for (const char* text : {":POSITIVE", "[b, kb", "INT in [", "FLOAT in [", ":NONNEGATIVE", "Enum"})
      EXPECT_THAT(help.out, Not(HasSubstr(text))) << command;
  }
}

}  // namespace
}  // namespace tvmvm::cli
