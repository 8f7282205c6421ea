// `tvm-vm test` on folders made from the demo model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "cli/console.h"
#include "cli/npy.h"
#include "tests/cli/scratch.h"
#include "tests/folders.h"
#include "tests/require.h"

namespace tvmvm::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

void WriteTensorProto(const std::string& path, const Tensor& tensor) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  std::span<const int64_t> dims = tensor.shape().dims();
  writer.add_packed_int64(1, dims.begin(), dims.end());
  writer.add_int32(2, DTypeToOnnx(tensor.dtype()));
  writer.add_bytes(9, static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.byte_count()));
  WriteBytes(path, bytes);
}

// Three folders: one that passes, one with a wrong output, one with a damaged model; and one without data.
class TestCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
    ToolResult made = RunShell(
        "cd '" + scratch_.path() + "' && '" + BuildPath() +
        "/make_demo_model' demo.onnx && tvm-vm run demo.onnx --input x=random:2x3x64 --output-dir out && "
        "tvm-vm run demo.onnx --input out/y.npy --output-dir again");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    Tensor x = *ReadNpy(scratch_ / "out/y.npy"), y = *ReadNpy(scratch_ / "again/y.npy");
    MakeFolder("test_good", x, y);
    MakeFolder("test_damaged", x, y);
    std::filesystem::resize_file(scratch_ / "tests/test_damaged/model.onnx", 1000);
    static_cast<float*>(y.data())[70] += 1;
    MakeFolder("test_wrong", x, y);
    std::filesystem::create_directories(scratch_ / "tests/test_empty");
    std::filesystem::copy(scratch_ / "demo.onnx", scratch_ / "tests/test_empty/model.onnx");
  }

  void MakeFolder(const std::string& name, const Tensor& x, const Tensor& y) {
    std::string folder = scratch_ / ("tests/" + name);
    std::filesystem::create_directories(folder + "/test_data_set_0");
    std::filesystem::copy(scratch_ / "demo.onnx", folder + "/model.onnx");
    WriteTensorProto(folder + "/test_data_set_0/input_0.pb", x);
    WriteTensorProto(folder + "/test_data_set_0/output_0.pb", y);
  }

  // A limit that only a hang reaches: the default is short for a sanitizer beside other work.
  ToolResult Run(const std::string& arguments, const std::string& seconds = "500") {
    return RunShell("cd '" + scratch_.path() + "'; tvm-vm test --timeout " + seconds + " " + arguments);
  }

  ScratchFolder scratch_;
};

TEST_F(TestCommandTest, CountsAndNamesTheWorstElement) {
  ToolResult result = Run("tests/*");
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_THAT(
      result.out,
      HasSubstr(
          "fail test_wrong: test_data_set_0: output 'y': 1 of 384 elements differ, worst at [0, 1, 6]: "));
  EXPECT_THAT(result.out, HasSubstr("error test_damaged: "));
  EXPECT_THAT(result.out, EndsWith("\n1 passed, 2 failed, 1 skipped\n"));
}

TEST_F(TestCommandTest, FindsTheTestsInAFolder) {
  EXPECT_THAT(Run("tests").out, EndsWith("1 passed, 2 failed, 1 skipped\n"));
  ToolResult good = Run("tests/test_good/ tests/test_empty");
  EXPECT_EQ(good.exit_code, kExitOk);
  EXPECT_EQ(good.out, "skip test_empty: no test data\n1 passed, 0 failed, 1 skipped\n");
}

TEST_F(TestCommandTest, WhereNothingIsTestedNothingPasses) {
  ToolResult none = Run("tests/test_empty");
  EXPECT_EQ(none.exit_code, kExitFailed);
  EXPECT_EQ(none.out, "skip test_empty: no test data\n0 passed, 0 failed, 1 skipped\n");
}

TEST_F(TestCommandTest, Json) {
  ToolResult result = Run("tests --json --jobs 3");
  EXPECT_EQ(result.exit_code, kExitFailed);
  nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["skipped"], 1);
  std::map<std::string, std::string> outcomes;
  for (const auto& test : json["tests"]) outcomes[test["name"]] = test["outcome"];
  EXPECT_EQ(
      outcomes,
      (std::map<std::string, std::string>{
          {"test_damaged", "error"}, {"test_empty", "skip"}, {"test_good", "pass"}, {"test_wrong", "fail"}}));
}

TEST_F(TestCommandTest, DataJsonGivesTolerances) {
  WriteBytes(scratch_ / "tests/test_wrong/data.json", R"({"rtol": 0.001, "atol": 2.0})");
  EXPECT_EQ(Run("tests/test_wrong").out, "1 passed, 0 failed, 0 skipped\n");
}

TEST_F(TestCommandTest, ATestThatTakesTooLongIsAnError) {
  ToolResult result = Run("tests/test_good", "0.0001");
  EXPECT_EQ(result.out, "error test_good: no answer within 0.0001 s\n0 passed, 1 failed, 0 skipped\n");
}

}  // namespace
}  // namespace tvmvm::cli
