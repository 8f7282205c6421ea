// Derivatives against central differences: gradients/*.json, written by make_gradients.py. Each case is a
// graph with Gradient nodes. It runs with the sizes of its inputs known, and again with every size a symbol.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "compiler/autodiff/gradient_rule.h"
#include "compiler/graph/core_op.h"
#include "tests/conformance/case_text.h"
#include "tests/folders.h"
#include "tvm-vm/compiler.h"

namespace tvmvm {
namespace {

using nlohmann::json;

std::string CaseFolder() { return SourcePath("tests/conformance/gradients"); }

std::vector<std::string> CaseFiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(CaseFolder()))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

ir::NodeText NodeOf(const json& text) {
  ir::NodeText node{text["op"], {}, {}};
  node.domain = text["domain"];
  auto name_of = [](const json& name) { return name == "_" ? std::string() : name.get<std::string>(); };
  for (const json& name : text["inputs"]) node.inputs.push_back(name_of(name));
  for (const json& name : text["outputs"]) node.outputs.push_back(name_of(name));
  for (const auto& [name, value] : text["attributes"].items())
    node.attributes.push_back(AttributeOf(name, value));
  return node;
}

std::string ModelOf(const json& text, bool has_symbols) {
  ir::GraphText graph;
  for (const json& node : text["nodes"]) graph.nodes.push_back(NodeOf(node));
  for (const auto& [name, value] : text["initializers"].items()) {
    Tensor tensor = TensorOf(value);
    graph.initializers.push_back(
        ir::TensorMessage(name, DTypeToOnnx(tensor.dtype()), value["dims"], BytesOfTensor(tensor)));
  }
  for (const auto& [name, value] : text["inputs"].items()) {
    std::vector<ir::DimText> dims;
    for (int64_t size : value["dims"])
      dims.push_back(has_symbols ? ir::DimText(name + "_" + std::to_string(dims.size())) : ir::DimText(size));
    graph.inputs.push_back(ir::ValueMessage(name, DTypeToOnnx(TensorOf(value).dtype()), dims));
  }
  for (const auto& [name, value] : text["outputs"].items())
    graph.outputs.push_back(ir::ValueMessage(name, DTypeToOnnx(TensorOf(value).dtype()),
                                             std::vector<ir::DimText>(value["dims"].size())));
  return ir::Message([&](auto& w) {
    w.add_int64(1, 10);
    w.add_message(7, ir::GraphMessage(graph));
    w.add_message(8, ir::OpsetMessage("", text["opset"].get<int64_t>()));
    w.add_message(8, ir::OpsetMessage("ai.onnx.preview.training", 1));
  });
}

void RunCase(const json& text, bool has_symbols) {
  std::string model = ModelOf(text, has_symbols);
  CompileOptions options;
  options.verify_passes = true;
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(model), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  auto vm = Vm::Create(compiled->program);
  ASSERT_TRUE(vm) << vm.error().message;
  std::vector<Tensor> inputs, wanted;
  for (const auto& [name, value] : text["inputs"].items()) inputs.push_back(TensorOf(value));
  for (const auto& [name, value] : text["outputs"].items()) wanted.push_back(TensorOf(value));
  std::vector<Tensor> outputs(wanted.size());
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  cli::Tolerance tolerance{1e-6, text.value("atol", 1e-6)};
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto difference = cli::FindDifference(outputs[i], wanted[i], tolerance);
    EXPECT_FALSE(difference) << "output " << i << ": " << *difference;
  }
}

class Gradients : public testing::TestWithParam<std::string> {};

TEST_P(Gradients, AreTheDifferences) {
  std::ifstream file(CaseFolder() + "/" + GetParam() + ".json");
  json cases = json::parse(file, nullptr, false);
  ASSERT_TRUE(cases.is_array() && !cases.empty());
  for (const json& text : cases) {
    for (bool has_symbols : {false, true}) {
      SCOPED_TRACE(text["name"].get<std::string>() + (has_symbols ? " with symbols" : ""));
      RunCase(text, has_symbols);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Gradients, testing::ValuesIn(CaseFiles()),
                         [](const auto& info) { return info.param; });

// The error of a model of one float input `x` of shape [2, 3].
std::string ErrorOf(std::vector<ir::NodeText> nodes, const std::string& output) {
  ir::GraphText graph{std::move(nodes),
                      {ir::ValueMessage("x", 1, {int64_t{2}, int64_t{3}})},
                      {ir::ValueMessage(output, 1, {"", ""})}};
  std::string model = ir::Message([&](auto& w) {
    w.add_int64(1, 10);
    w.add_message(7, ir::GraphMessage(graph));
    w.add_message(8, ir::OpsetMessage("", 21));
    w.add_message(8, ir::OpsetMessage("ai.onnx.preview.training", 1));
  });
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(model), {});
  return compiled ? "no error" : compiled.error().message;
}

ir::NodeText GradientNode(const std::string& x, const std::string& y, std::vector<std::string> inputs) {
  return {"Gradient", std::move(inputs),
          {"dx"},     {ir::TextsAttribute("xs", {x}), ir::TextAttribute("y", y)},
          "gradient", "ai.onnx.preview.training"};
}

TEST(GradientErrors, NameWhatIsWrong) {
  auto mentions = [](const std::string& error, const std::string& text) {
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  mentions(ErrorOf({{"Exp", {"x"}, {"y"}}, GradientNode("x", "z", {"x"})}, "dx"),
           "there is no value 'z' before the node");
  mentions(ErrorOf({{"Exp", {"x"}, {"y"}}, GradientNode("x", "y", {"x", "x"})}, "dx"),
           "2 inputs and 1 outputs for 1 names");
  mentions(
      ErrorOf({{"Cast", {"x"}, {"y"}, {ir::IntAttribute("to", 7)}}, GradientNode("x", "y", {"x"})}, "dx"),
      "the gradient of a value of type tensor<i64,[2,3]>, wanted floats");
  mentions(ErrorOf({{"CumProd", {"x", "x"}, {"y"}}, GradientNode("x", "y", {"x"})}, "dx"), "CumProd");
  mentions(ErrorOf({{"Transpose", {"x"}, {"t"}}, {"Exp", {"x"}, {"y"}}, GradientNode("x", "y", {"t"})}, "dx"),
           "a value with size 3 of axis 0 takes the place of one with size 2");
}

// The rule of a name that no operator has would never run.
TEST(GradientRules, AreOfCoreOperators) {
  for (auto family : {autodiff::ElementwiseRules(), autodiff::MovementRules(), autodiff::IndexingRules(),
                      autodiff::ReductionRules(), autodiff::ProductRules()})
    for (const autodiff::GradientRule& rule : family) EXPECT_NE(ir::FindCoreOp(rule.op), nullptr) << rule.op;
}

}  // namespace
}  // namespace tvmvm
