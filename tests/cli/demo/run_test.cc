// Runs of the demo model, and of a loop: inputs, outputs, limits, what is told of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/demo/demo_model.h"
#include "tests/cli/loop_text.h"

namespace tvmvm::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(DemoTest, OneFileRunsAtEveryShape) {
  for (std::string shape : {"1x1x64", "3x7x64", "2x33x64"}) {
    ToolResult result = Run("tvm-vm run $vmexe --input x=random:" + shape + " --json");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    nlohmann::json output = nlohmann::json::parse(result.out)["outputs"][0];
    EXPECT_EQ(output["name"], "y");
    EXPECT_EQ(output["dtype"], "f32");
    std::string dims;
    for (int64_t dim : output["shape"]) dims += (dims.empty() ? "" : "x") + std::to_string(dim);
    EXPECT_EQ(dims, shape);
  }
}

TEST_F(DemoTest, RunShowsTheOutputs) {
  ToolResult result = Run("tvm-vm run $vmexe --dim batch=2 --dim length=5");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("y: f32[2, 5, 64] ["));
  EXPECT_THAT(result.err, HasSubstr("peak memory"));
}

TEST_F(DemoTest, OutputsCanBeWrittenAndExpected) {
  ToolResult first =
      Run("tvm-vm run $vmexe --dim length=5 --output-dir out/deep && tvm-vm run $onnx --dim length=5 "
          "--expect y=out/deep/y.npy");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  ToolResult other = Run("tvm-vm run $vmexe --dim length=5 --seed 9 --expect y=out/deep/y.npy");
  EXPECT_EQ(other.exit_code, kExitFailed);
  EXPECT_THAT(other.err, HasSubstr("output 'y': "));
  EXPECT_THAT(other.err, HasSubstr("elements differ, worst at ["));
  EXPECT_EQ(Run("tvm-vm run $vmexe --dim length=5 --seed 9 --expect y=out/deep/y.npy --atol 100").exit_code,
            0);
  ExpectFails("tvm-vm run $vmexe --expect z=out/deep/y.npy",
              "the model has no output 'z'; its outputs are: y");
}

TEST_F(DemoTest, WrongInputs) {
  ASSERT_EQ(Run("tvm-vm run $vmexe --dim batch=2 --dim length=5 --output-dir out").exit_code, 0);
  EXPECT_EQ(Run("tvm-vm run $vmexe --input out/y.npy").exit_code, 0);
  EXPECT_EQ(Run("tvm-vm run $vmexe --input x=out/y.npy").exit_code, 0);
  ExpectFails("tvm-vm run $vmexe --input x=random:2x5", "x");
  ExpectFails("tvm-vm run $vmexe --input x=random:2x5x63", "63");
  ExpectFails("tvm-vm run $vmexe --input z=random:2x5x64", "no input 'z'");
  ExpectFails("tvm-vm run $vmexe --input out/y.npy --input out/y.npy",
              "2 inputs are given, the model takes 1");
  ExpectFails("tvm-vm run $vmexe --input nothing.npy", "nothing.npy': No such file");
  ExpectFails("tvm-vm run $vmexe --dim breadth=2", "no dimension named 'breadth'");
  ExpectFails("head -c 200 out/y.npy >cut.npy; tvm-vm run $vmexe --input cut.npy", "cut.npy");
}

TEST_F(DemoTest, MadeInputsCountAgainstTheLimit) {
  ExpectFails("tvm-vm run $vmexe --dim length=99999999999", "would be made, the machine has");
  ExpectFails("tvm-vm run $vmexe --dim length=1000 --max-bytes 200000",
              "would be made, the limit of all is 200000 bytes");
  EXPECT_THAT(Run("tvm-vm run $vmexe -i x=random:1x2x64 --dim length=7").err,
              HasSubstr("--dim length has no effect"));
  ExpectFails("tvm-vm run $vmexe --dim lenght=7", "(did you mean 'length'?)");
}

TEST_F(DemoTest, QuietAndStrict) {
  EXPECT_THAT(Run("tvm-vm -q run $vmexe").err, IsEmpty());
  EXPECT_THAT(Run("tvm-vm run $vmexe --quiet").err, IsEmpty());
  ExpectFails("tvm-vm run $vmexe --device vulkan,cpu --strict", "--strict");
}

TEST_F(DemoTest, VerboseTellsWhatIsDone) {
  ToolResult run = Run("tvm-vm run $vmexe -v");
  for (const char* detail : {"loaded '", "kernels, ", "bound to ", "x: f32[1, 1, 64]"})
    EXPECT_THAT(run.err, HasSubstr(detail));
  EXPECT_EQ(run.out, Run("tvm-vm run $vmexe").out);
  EXPECT_THAT(Run("tvm-vm -v run $onnx").err, AllOf(HasSubstr("the compiler is "), HasSubstr("compiled '")));
  ExpectUsageError(InScratch("tvm-vm run $vmexe -v -q"), "--quiet");
}

TEST_F(DemoTest, NativeCodeCanBeRefused) {
  ExpectFails("tvm-vm run $vmexe --no-native", "the program runs code of its own");
  EXPECT_EQ(Run("tvm-vm run $onnx --no-native").exit_code, 0);  // what is compiled here is ours
}

TEST_F(DemoTest, DigestsTellContentsApart) {
  auto output = [this](const std::string& options) {
    return nlohmann::json::parse(Run("tvm-vm run $vmexe --json " + options).out)["outputs"][0]["digest"];
  };
  EXPECT_EQ(output("--seed 1"), output("--seed 1"));
  EXPECT_NE(output("--seed 1"), output("--seed 2"));
  const nlohmann::json run = nlohmann::json::parse(Run("tvm-vm run $vmexe --json").out);
  EXPECT_EQ(run["devices"][0]["name"], "cpu");
  EXPECT_GT(run["devices"][0]["kernels"], 0);
  const std::string digest = nlohmann::json::parse(Run("tvm-vm inspect $vmexe --json").out)["digest"];
  EXPECT_EQ(digest.size(), 32u);
  EXPECT_THAT(Run("cp $vmexe copy.vmexe; tvm-vm inspect copy.vmexe").out, HasSubstr("digest: " + digest));
}

TEST_F(DemoTest, DumpWritesValuesInsideTheModel) {
  ToolResult all = Run("tvm-vm run $onnx --dump all --output-dir values");
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "values/scores.npy"));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "values/y.npy"));
  ToolResult one = Run("tvm-vm run $onnx --dump scores --output-dir one");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, StartsWith("scores: f32[1, 1, 1]"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "one/y.npy"));
  ToolResult node = Run("tvm-vm run $onnx --dump /queries --output-dir node");
  EXPECT_EQ(node.exit_code, 0) << node.err;
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "node/y.npy"));
  ToolResult input = Run("tvm-vm run $onnx --dump x --output-dir input --seed 3");
  EXPECT_THAT(input.out, StartsWith("x: f32[1, 1, 64]"));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "input/x.npy"));
  EXPECT_EQ(Run("tvm-vm run $vmexe -i x=input/x.npy").out, Run("tvm-vm run $vmexe --seed 3").out);
  ExpectFails("tvm-vm run $onnx --dump nobody --output-dir none", "no value or node named 'nobody'");
  ExpectFails("tvm-vm run $vmexe --dump all --output-dir none", "this is a program");
}

TEST_F(DemoTest, TraceShowsEachStep) {
  WriteBytes(scratch_ / "loop.ir", kLoopText);
  ToolResult result = Run("tvm-vm run loop.ir --dim n=3 --trace-values");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* line : {"loop: step 0\n", "loop: step 1\n", "loop: step 2\n", "fused: sum f32[4]\n"})
    EXPECT_THAT(result.err, HasSubstr(line));
  EXPECT_THAT(result.err, Not(HasSubstr("step 3")));
  EXPECT_THAT(result.out, StartsWith("last: f32[4] ["));
  ExpectFails("tvm-vm run $vmexe --trace-values", "this is a program");
}

TEST_F(DemoTest, RunsEndAtTheirLimits) {
  WriteBytes(scratch_ / "loop.ir", kLoopText);
  ASSERT_EQ(Run("tvm-vm compile loop.ir -o loop.vmexe --disable-pass outline-loops").exit_code, 0);
  EXPECT_EQ(Run("tvm-vm run loop.vmexe --dim n=1000 --max-steps 1000000 --timeout 60").exit_code, 0);
  ExpectFails("tvm-vm run loop.vmexe --dim n=1000 --max-steps 100", "the limit of 100 steps is reached");
  ExpectFails("tvm-vm run loop.vmexe --dim n=10000000 --timeout 0.001",
              "the limit of 1000 microseconds is reached");
  ExpectFails("tvm-vm run loop.vmexe --dim n=10000000 --timeout 1e-7",
              "the limit of 100 nanoseconds is reached");
  ExpectFails("tvm-vm run $vmexe --dim length=1000 --max-bytes 300000", "the limit is 300000");
  ExpectUsageError("tvm-vm run a.vmexe --timeout -1", "--timeout");
}

// K, M, G of 1000 and Ki, Mi, Gi of 1024, whatever the option.
TEST_F(DemoTest, SizesFollowOneRule) {
  const std::vector<std::pair<std::string, int64_t>> sizes = {
      {"300000", 300000}, {"300K", 300000}, {"300kb", 300000}, {"300Ki", 307200}, {"300KiB", 307200}};
  for (const auto& [text, bytes] : sizes) {
    ExpectFails("tvm-vm run $vmexe --dim length=1000 --max-bytes " + text,
                "the limit is " + std::to_string(bytes));
    ExpectFails("tvm-vm compile $onnx -o a.vmexe --dim batch=1 --dim length=1000 --memory-budget " + text,
                "(out_of_memory)");
  }
  for (const auto& [text, bytes] : {std::pair("1G", 1000000000), std::pair("1Gi", 1 << 30)}) {
    ToolResult bench = Run(std::string("tvm-vm bench $vmexe --repeat 1 --json --memory-pool ") + text);
    EXPECT_EQ(nlohmann::json::parse(bench.out)["pool"]["max_bytes"], bytes);
    ToolResult compile =
        Run("tvm-vm compile $onnx -o a.vmexe --dim batch=1 --dim length=1..16 --json --memory-budget " +
            std::string(text));
    EXPECT_EQ(nlohmann::json::parse(compile.out)["memory"]["budget_bytes"], bytes);
  }
}

TEST_F(DemoTest, DimsOfGraphsInTextFormAreWhatIsSaid) {
  WriteBytes(scratch_ / "loop.ir", kLoopText);
  ASSERT_EQ(Run("tvm-vm compile loop.ir -o a.vmexe --dim n=2..7").exit_code, 0);
  EXPECT_EQ(Run("tvm-vm run a.vmexe --dim n=7").exit_code, 0);
  ExpectFails("tvm-vm run a.vmexe --dim n=8", "n");
  ASSERT_EQ(Run("tvm-vm compile loop.ir -o a.vmexe --dim n=5").exit_code, 0);
  EXPECT_THAT(Run("tvm-vm inspect a.vmexe").out, HasSubstr("x: f32[5, 4]"));
  ExpectFails("tvm-vm compile loop.ir -o a.vmexe --dim k=5", "no input has a dimension 'k'; there is 'n'");
}

TEST_F(DemoTest, RunningAPackagedProgramStartsQuicklyAndWithoutLlvm) {
  ToolResult traced = Run("LD_DEBUG=files tvm-vm run $vmexe");
  EXPECT_EQ(traced.exit_code, 0);
  EXPECT_THAT(traced.err, HasSubstr("libtvm-vm.so"));
  EXPECT_THAT(traced.err, Not(HasSubstr("libLLVM")));
}

}  // namespace
}  // namespace tvmvm::cli
