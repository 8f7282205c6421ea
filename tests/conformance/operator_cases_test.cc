// Operators against numbers that others computed: cases/*.json, written by make_cases.py. Each case is one
// node. It runs with the sizes of its inputs known, and again with every size a symbol.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "tests/conformance/case_model.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using nlohmann::json;

std::string CaseFolder() { return std::string(TVMVM_SOURCE_DIR) + "/tests/conformance/cases"; }

std::vector<std::string> CaseFiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(CaseFolder()))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

void RunCase(const json& text, bool has_symbols) {
  CaseModel model = ModelOfCase(text, has_symbols);
  CompileOptions options;
  options.verify_passes = true;
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(model.bytes), options);
  std::string error = text.value("error", "");
  if (!compiled && !error.empty()) {
    EXPECT_NE(compiled.error().message.find(error), std::string::npos) << compiled.error().message;
    return;
  }
  ASSERT_TRUE(compiled) << compiled.error().message;
  VmOptions vm_options;
  vm_options.threads = 2;
  auto vm = Vm::Create(compiled->program, vm_options);
  ASSERT_TRUE(vm) << vm.error().message;
  std::vector<Tensor> outputs(model.outputs.size());
  Status status = (*vm)->NewInvocation().Run(model.inputs, outputs);
  if (!error.empty()) {
    ASSERT_FALSE(status) << "no error";
    EXPECT_NE(status.error().message.find(error), std::string::npos) << status.error().message;
    return;
  }
  ASSERT_TRUE(status) << status.error().message;
  cli::Tolerance tolerance{text.value("rtol", 1e-4), text.value("atol", 1e-5)};
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto difference = cli::FindDifference(outputs[i], model.outputs[i], tolerance);
    EXPECT_FALSE(difference) << "output " << i << ": " << *difference;
  }
}

class OperatorCases : public testing::TestWithParam<std::string> {};

TEST_P(OperatorCases, GiveTheReferenceNumbers) {
  std::ifstream file(CaseFolder() + "/" + GetParam() + ".json");
  json cases = json::parse(file, nullptr, false);
  ASSERT_TRUE(cases.is_array() && !cases.empty());
  for (const json& text : cases) {
    for (bool has_symbols : {false, true}) {
      if (has_symbols && text.value("known_sizes_only", false)) continue;
      SCOPED_TRACE(text["name"].get<std::string>() + (has_symbols ? " with symbols" : ""));
      RunCase(text, has_symbols);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OperatorCases, testing::ValuesIn(CaseFiles()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tvmvm
