// Runs cases/*.json: each case is a node, or a few, with the numbers that others computed.
#pragma once

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
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {

inline std::string CaseFolder() { return SourcePath("tests/conformance/cases"); }

inline std::vector<std::string> CaseFiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(CaseFolder()))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline nlohmann::json CasesOf(const std::string& name) {
  std::ifstream file(CaseFolder() + "/" + name + ".json");
  return nlohmann::json::parse(file, nullptr, false);
}

// With the sizes of its inputs known, or with every size a symbol.
inline void RunCase(const nlohmann::json& text, bool has_symbols, CompileOptions options = {}) {
  CaseModel model = ModelOfCase(text, has_symbols);
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

}  // namespace tvmvm
