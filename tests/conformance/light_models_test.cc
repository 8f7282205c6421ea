// The light models of the ONNX backend tests: networks whose weights are constants of one value. Their one
// input counts from 0 to 1, as the reference runner makes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "cli/onnx_data.h"
#include "tests/folders.h"
#include "tests/require.h"
#include "tests/sanitizer.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

std::vector<std::filesystem::path> Models() {
  std::vector<std::filesystem::path> paths;
  std::filesystem::path folder = SharedPath("onnx/light");
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing))
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Tensor CountingTensor(const TypeSpec& type) {
  std::vector<int64_t> dims;
  for (const DimSpec& dim : type.dims) dims.push_back(std::max<int64_t>(dim.value, 1));
  auto tensor = Tensor::Allocate(DType::kF32, Shape(dims));
  EXPECT_TRUE(tensor);
  auto* numbers = static_cast<float*>(tensor->data());
  const double count = static_cast<double>(tensor->element_count());
  for (int64_t i = 0; i < tensor->element_count(); ++i)
    numbers[i] = static_cast<float>(static_cast<double>(i) / count);
  return *tensor;
}

void RunModel(const std::filesystem::path& path) {
  CompileOptions options;
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileFile(path.string(), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  const FunctionSpec& main = compiled->program->main();
  ASSERT_EQ(main.inputs.size(), 1u);
  ASSERT_EQ(main.outputs.size(), 1u);
  auto vm = Vm::Create(compiled->program);
  ASSERT_TRUE(vm) << vm.error().message;
  std::vector<Tensor> inputs{CountingTensor(main.inputs[0].type)}, outputs(1);
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  std::string expected = (path.parent_path() / path.stem()).string() + "_output_0.pb";
  auto want = cli::ReadValueProto(expected, main.outputs[0].type);
  ASSERT_TRUE(want) << want.error().message;
  auto difference = cli::FindDifference(outputs[0], want->value.tensor(), {});
  EXPECT_FALSE(difference) << *difference;
}

TEST(LightModels, GiveTheReferenceNumbers) {
  std::vector<std::filesystem::path> models = Models();
  if (models.empty()) TVMVM_SKIP_WITHOUT("onnx", "no light models beside the project");
  // Under a sanitizer one, for time.
  if (kSanitized) models = {models.back()};
  for (const auto& path : models) {
    SCOPED_TRACE(path.filename().string());
    RunModel(path);
  }
}

}  // namespace
}  // namespace tvmvm
