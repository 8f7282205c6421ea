// Models whose sizes are made of one another in many steps (growing_sizes/, by make_growing_sizes.py): they
// compile to any number of steps, in time that grows with their number, and give what ONNX Runtime gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "tests/conformance/case_model.h"
#include "tests/folders.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

fs::path Folder() { return SourcePath("tests/conformance/growing_sizes"); }

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(Folder()))
    if (entry.path().extension() == ".onnx") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

Tensor Counting(const std::vector<int64_t>& dims) {
  auto tensor = Tensor::Allocate(DType::kF32, Shape(dims));
  EXPECT_TRUE(tensor);
  for (int64_t i = 0; i < tensor->element_count(); ++i)
    cli::WriteFloat(*tensor, i, static_cast<double>(i) / static_cast<double>(tensor->element_count()));
  return *tensor;
}

class GrowingSizes : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(GrowingSizes, GiveWhatOnnxRuntimeGives) {
  const auto& [device_name, name] = GetParam();
  auto device = OpenDevice(device_name, {});
  if (!device) TVMVM_SKIP_WITHOUT(device_name, device.error().message);
  CompileOptions options;
  options.targets = {"host"};
  if (device_name != "cpu") {
    options.devices = {device_name, "cpu"};
    options.prefer_gpu = true;
  }
  auto compiled = GetCompiler().CompileFile((Folder() / (name + ".onnx")).string(), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  VmOptions vm_options{.threads = 1};
  if (device_name != "cpu") vm_options.devices = {*device};
  auto vm = Vm::Create(compiled->program, vm_options);
  ASSERT_TRUE(vm) << vm.error().message;
  std::ifstream file(Folder() / (name + ".json"));
  const json runs = json::parse(file, nullptr, false)["runs"];
  ASSERT_GE(runs.size(), 2u);
  for (const json& run : runs) {
    SCOPED_TRACE(run["input"].dump());
    std::vector<Tensor> inputs{Counting(run["input"].get<std::vector<int64_t>>())}, outputs(1);
    Status status = (*vm)->NewInvocation().Run(inputs, outputs);
    ASSERT_TRUE(status) << status.error().message;
    Tensor want = TensorOf({{"type", "f32"}, {"dims", run["output"]}, {"values", run["values"]}});
    auto difference = cli::FindDifference(outputs[0], want, {1e-4, 1e-5});
    EXPECT_FALSE(difference) << *difference;
  }
}

std::string TestName(const testing::TestParamInfo<GrowingSizes::ParamType>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Cpu, GrowingSizes,
                         testing::Combine(testing::Values("cpu"), testing::ValuesIn(Names())), TestName);
INSTANTIATE_TEST_SUITE_P(Gpu, GrowingSizes,
                         testing::Combine(testing::Values("opencl", "vulkan"),
                                          testing::Values("ceil_pools", "squared_sizes", "windows")),
                         TestName);

}  // namespace
}  // namespace tvmvm
