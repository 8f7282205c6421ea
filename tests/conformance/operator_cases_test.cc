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
#include "compiler/compiler.h"
#include "tests/conformance/case_text.h"
#include "vm/vm.h"

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

struct Model {
  std::string bytes;
  std::vector<Tensor> inputs, outputs;
};

Model ModelOf(const json& text, bool has_symbols) {
  Model model;
  ir::NodeText node{text["op"], {}, {}};
  node.domain = text.value("domain", "");
  ir::GraphText graph;
  for (const json& input : text["inputs"]) {
    std::string name = input.is_null() ? "" : "input" + std::to_string(node.inputs.size());
    node.inputs.push_back(name);
    if (input.is_null()) continue;
    Tensor tensor = TensorOf(input);
    int32_t type = DTypeToOnnx(tensor.dtype());
    std::vector<int64_t> sizes = input["dims"];
    if (input.value("constant", false)) {
      graph.initializers.push_back(ir::TensorMessage(name, type, sizes, BytesOfTensor(tensor)));
      continue;
    }
    std::vector<ir::DimText> dims;
    for (size_t i = 0; i < sizes.size(); ++i)
      dims.push_back(has_symbols ? ir::DimText(name + "_" + std::to_string(i)) : ir::DimText(sizes[i]));
    graph.inputs.push_back(ir::ValueMessage(name, type, dims));
    model.inputs.push_back(tensor);
  }
  for (const json& output : text["outputs"]) {
    std::string name = output.is_null() ? "" : "output" + std::to_string(node.outputs.size());
    node.outputs.push_back(name);
    if (output.is_null()) continue;
    model.outputs.push_back(TensorOf(output));
    std::vector<ir::DimText> dims(output["dims"].size());
    graph.outputs.push_back(ir::ValueMessage(name, DTypeToOnnx(model.outputs.back().dtype()), dims));
  }
  for (const auto& [name, value] : text["attributes"].items())
    node.attributes.push_back(AttributeOf(name, value));
  graph.nodes.push_back(node);
  model.bytes = ir::Message([&](auto& w) {
    w.add_int64(1, 10);
    w.add_message(7, ir::GraphMessage(graph));
    w.add_message(8, ir::OpsetMessage("", node.domain.empty() ? text["opset"].get<int64_t>() : 21));
    if (!node.domain.empty()) w.add_message(8, ir::OpsetMessage(node.domain, text["opset"]));
  });
  return model;
}

void RunCase(const json& text, bool has_symbols) {
  Model model = ModelOf(text, has_symbols);
  CompileOptions options;
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
