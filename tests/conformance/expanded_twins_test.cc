// The ONNX backend tests have many operators twice: as one node, and expanded into the function that defines
// it. Both must give the same numbers, whatever the reference says.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
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

namespace fs = std::filesystem;

// Under a sanitizer every eighth pair, for time.
constexpr size_t kStep = kSanitized ? 8 : 1;

// Folders of an operator and of its expansion: "test_x" and "test_x_expanded" or "test_x_expanded_ver18".
std::vector<std::pair<std::string, std::string>> Twins(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> twins;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string path = entry.path().string();
    size_t at = path.rfind("_expanded");
    if (at != std::string::npos && fs::exists(path.substr(0, at)))
      twins.emplace_back(path.substr(0, at), path);
  }
  std::sort(twins.begin(), twins.end());
  return twins;
}

Expected<std::vector<Value>> Outputs(const std::string& folder, const std::string& data) {
  CompileOptions options;
  options.verify_passes = true;
  options.targets = {"host"};
  TVMVM_TRY(CompileResult compiled, GetCompiler().CompileFile(folder + "/model.onnx", options));
  TVMVM_TRY(std::shared_ptr<Vm> vm, Vm::Create(compiled.program, VmOptions{.threads = 1}));
  const FunctionSpec& main = compiled.program->main();
  std::vector<Value> inputs, outputs(main.outputs.size());
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    std::string path = data + "/input_" + std::to_string(i) + ".pb";
    TVMVM_TRY(cli::NamedValue value, cli::ReadValueProto(path, main.inputs[i].type));
    inputs.push_back(std::move(value.value));
  }
  TVMVM_CHECK_OK(vm->NewInvocation().Run(inputs, outputs));
  return outputs;
}

TEST(ExpandedTwins, GiveTheSameNumbers) {
  std::string folder = SharedPath("onnx/node");
  if (!fs::exists(folder)) TVMVM_SKIP_WITHOUT("onnx", "no " << folder << " beside the project");
  auto twins = Twins(folder);
  ASSERT_GT(twins.size(), 400u);
  for (size_t i = 0; i < twins.size(); i += kStep) {
    const auto& [plain, expanded] = twins[i];
    std::string name = fs::path(expanded).filename().string(), data = plain + "/test_data_set_0";
    auto want = Outputs(plain, data), got = Outputs(expanded, data);
    ASSERT_TRUE(want) << plain << ": " << want.error().message;
    ASSERT_TRUE(got) << expanded << ": " << got.error().message;
    ASSERT_EQ(got->size(), want->size()) << name;
    cli::Tolerance tolerance{.rtol = 1e-5, .atol = 1e-5, .shape_only = cli::HasRandomOutputs(name)};
    for (size_t k = 0; k < want->size(); ++k) {
      auto difference = cli::FindDifference((*got)[k], (*want)[k], tolerance);
      EXPECT_FALSE(difference) << name << ", output " << k << ": " << *difference;
    }
  }
}

}  // namespace
}  // namespace tvmvm
