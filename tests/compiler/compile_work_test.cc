// What the compiler does for a model, counted: more of it than is written here is a regression, on any
// machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/folders.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"

namespace tvmvm {
namespace {

using ir::GraphText;
using ir::NodeText;
using Work = std::map<std::string, int64_t>;

Work WorkFor(std::span<const std::byte> model, const std::vector<std::string>& devices) {
  CompileOptions options;
  options.devices = devices;
  options.prefer_gpu = true;
  options.targets = {"x86-64-v3"};
  options.threads = 1;
  auto compiled = GetCompiler().CompileBytes(model, options);
  if (!compiled) {
    ADD_FAILURE() << compiled.error().message;
    return {};
  }
  return {compiled->work.begin(), compiled->work.end()};
}

Work WorkFor(const GraphText& graph, const std::vector<std::string>& devices = {"cpu"}) {
  return WorkFor(ir::BytesOf(ir::ModelMessage(graph, 20)), devices);
}

const std::vector<std::string> kBoth = {"null", "cpu"};

GraphText OneInput(const std::string& name, const std::vector<ir::DimText>& dims) {
  GraphText graph;
  graph.inputs = {ir::ValueMessage(name, ir::kOnnxFloat, dims)};
  return graph;
}

void SetOutput(GraphText* graph, const std::string& name, const std::vector<ir::DimText>& dims) {
  graph->outputs = {ir::ValueMessage(name, ir::kOnnxFloat, dims)};
}

// n times softmax, each of something else.
GraphText Rows(int count) {
  GraphText graph = OneInput("v0", {"n", int64_t{16}});
  for (int i = 0; i < count; ++i)
    graph.nodes.push_back(
        {i % 2 ? "Softmax" : "Transpose", {fmt::format("v{}", i)}, {fmt::format("v{}", i + 1)}});
  SetOutput(&graph, fmt::format("v{}", count), {"a", "b"});
  return graph;
}

// `depth` Ifs in one another; the innermost adds.
std::string NestedIf(int depth) {
  GraphText graph;
  if (depth == 0) {
    graph.nodes = {{"Add", {"x", "x"}, {"sum"}}};
    SetOutput(&graph, "sum", {"n"});
    return ir::GraphMessage(graph);
  }
  GraphText other;
  other.nodes = {{"Neg", {"x"}, {"negative"}}};
  SetOutput(&other, "negative", {"n"});
  const std::string name = fmt::format("y{}", depth);
  graph.nodes = {{"If",
                  {"c"},
                  {name},
                  {ir::GraphAttribute("then_branch", NestedIf(depth - 1)),
                   ir::GraphAttribute("else_branch", ir::GraphMessage(other))}}};
  SetOutput(&graph, name, {"n"});
  return ir::GraphMessage(graph);
}

GraphText Ifs(int depth) {
  GraphText graph = OneInput("x", {"n"});
  graph.inputs.push_back(ir::ValueMessage("c", ir::kOnnxBool, {}));
  GraphText other;
  other.nodes = {{"Neg", {"x"}, {"negative"}}};
  SetOutput(&other, "negative", {"n"});
  graph.nodes = {{"If",
                  {"c"},
                  {"y"},
                  {ir::GraphAttribute("then_branch", NestedIf(depth)),
                   ir::GraphAttribute("else_branch", ir::GraphMessage(other))}}};
  SetOutput(&graph, "y", {"n"});
  return graph;
}

std::string LoopBody(const std::vector<NodeText>& nodes, const std::string& result) {
  GraphText body;
  body.nodes = nodes;
  body.nodes.push_back({"Identity", {"go"}, {"on"}});
  body.inputs = {ir::ValueMessage("i", ir::kOnnxInt64, {}), ir::ValueMessage("go", ir::kOnnxBool, {}),
                 ir::ValueMessage("h", ir::kOnnxFloat, {"k"})};
  body.outputs = {ir::ValueMessage("on", ir::kOnnxBool, {}), ir::ValueMessage(result, ir::kOnnxFloat, {"k"})};
  return ir::GraphMessage(body);
}

// Loops one after the other.
GraphText Loops(int count) {
  GraphText graph = OneInput("v0", {"n"});
  graph.nodes = {{"Constant", {}, {"steps"}, {ir::IntAttribute("value_int", 3)}}};
  for (int i = 0; i < count; ++i)
    graph.nodes.push_back({"Loop",
                           {"steps", "", fmt::format("v{}", i)},
                           {fmt::format("v{}", i + 1)},
                           {ir::GraphAttribute("body", LoopBody({{"Exp", {"h"}, {"e"}}}, "e"))}});
  SetOutput(&graph, fmt::format("v{}", count), {"n"});
  return graph;
}

// Loops in one another; the carried value of each grows in each step.
std::vector<NodeText> NestedLoop(int depth) {
  if (depth == 0) return {{"Concat", {"h", "h"}, {"e"}, {ir::IntAttribute("axis", 0)}}};
  return {{"Constant", {}, {"steps"}, {ir::IntAttribute("value_int", 2)}},
          {"Loop",
           {"steps", "", "h"},
           {"e"},
           {ir::GraphAttribute("body", LoopBody(NestedLoop(depth - 1), "e"))}}};
}

GraphText NestedLoops(int depth) {
  GraphText graph = OneInput("h", {"n"});
  graph.nodes = NestedLoop(depth);
  SetOutput(&graph, "e", {"m"});
  return graph;
}

// Twice the model may take twice the work, and a little.
void ExpectLinear(const Work& once, const Work& twice) {
  for (const auto& [name, count] : twice)
    EXPECT_LE(count, once.at(name) * 21 / 10 + 32) << name << ", " << once.at(name) << " for half of it";
}

TEST(CompileWork, GrowsWithTheModel) {
  ExpectLinear(WorkFor(Rows(60)), WorkFor(Rows(120)));
  ExpectLinear(WorkFor(Rows(60), kBoth), WorkFor(Rows(120), kBoth));
  ExpectLinear(WorkFor(Ifs(12)), WorkFor(Ifs(24)));
  ExpectLinear(WorkFor(Ifs(12), kBoth), WorkFor(Ifs(24), kBoth));
  ExpectLinear(WorkFor(Loops(100)), WorkFor(Loops(200)));
  ExpectLinear(WorkFor(Loops(100), kBoth), WorkFor(Loops(200), kBoth));
}

// An import finds out what its body changes; the imports around it need not find it out again.
TEST(CompileWork, NestedBodiesAreImportedAFewTimes) {
  for (const int depth : {5, 20}) {
    const Work work = WorkFor(NestedLoops(depth));
    EXPECT_LE(work.at("graphs imported"), (depth + 1) * (depth + 1)) << depth;
  }
}

// A GPU beside the CPU: the passes do not run again, and each group is scheduled once for a target.
TEST(CompileWork, DevicesShareIt) {
  const Work cpu = WorkFor(Rows(20)), both = WorkFor(Rows(20), kBoth);
  EXPECT_EQ(cpu.at("nodes imported"), both.at("nodes imported"));
  EXPECT_EQ(both.at("placements"), 1);
  EXPECT_LE(both.at("schedules made"), 2 * cpu.at("schedules made"));
  EXPECT_LE(both.at("nodes after passes"), cpu.at("nodes after passes") * 11 / 10);
}

TEST(CompileWork, OfUnknownRank) {
  const std::string unranked = ir::Message([&](auto& type) {
    type.add_message(1, ir::Message([&](auto& tensor) { tensor.add_int32(1, ir::kOnnxFloat); }));
  });
  auto chain = [&](const std::vector<std::string>& operators) {
    GraphText graph;
    for (size_t i = 0; i < operators.size(); ++i)
      graph.nodes.push_back({operators[i], {fmt::format("v{}", i)}, {fmt::format("v{}", i + 1)}});
    graph.inputs = {ir::ValueOfType("v0", unranked)};
    graph.outputs = {ir::ValueOfType(fmt::format("v{}", operators.size()), unranked)};
    return graph;
  };
  const Work elements = WorkFor(chain({"Relu", "Exp", "Tanh", "Neg", "Sigmoid", "Abs"}));
  EXPECT_EQ(elements.at("schedules made"), 1);
  EXPECT_EQ(elements.at("kernels generated"), 1);
  const std::vector<std::string> ten{"Softmax", "Relu",    "Transpose", "Exp",     "LogSoftmax",
                                     "Tanh",    "Hardmax", "Neg",       "Softmax", "Sigmoid"};
  const Work mixed = WorkFor(chain(ten));
  EXPECT_LE(mixed.at("nodes imported"), 1500);
  EXPECT_LE(mixed.at("schedules made"), 8 * 6);
  EXPECT_LE(mixed.at("kernels generated"), 8 * 6);
}

// What an operator along an axis computes is the same around every axis of every rank: so are its kernels.
TEST(CompileWork, OfAnAxisThatIsNotKnown) {
  const std::string unranked = ir::Message([&](auto& type) {
    type.add_message(1, ir::Message([&](auto& tensor) { tensor.add_int32(1, ir::kOnnxFloat); }));
  });
  GraphText graph;
  graph.nodes = {{"DFT", {"x", "", "axis"}, {"y"}}};
  graph.inputs = {ir::ValueOfType("x", unranked), ir::ValueMessage("axis", ir::kOnnxInt64, {})};
  graph.outputs = {ir::ValueOfType("y", unranked)};
  // Short transforms, and long ones in two ways.
  EXPECT_LE(WorkFor(graph).at("kernels generated"), 122);
}

// Real models, where they are: at most so much work for the CPU and a GPU.
struct ModelBudget {
  const char* name;
  int64_t nodes_after_passes, schedules_made, kernels_generated;
};

TEST(CompileWork, OfRealModels) {
  constexpr ModelBudget kBudgets[] = {
      {"mnist-8", 585, 10, 12},
      {"scan9_sum", 120, 1, 1},
      {"nuphar_tiny_model_with_loop", 4731, 27, 42},
      {"fp16model_loop", 282, 3, 2},
      {"dummy_transformer_mlm", 4847, 34, 97},
      {"super_resolution", 851, 18, 44},
      {"yolox_nano", 24426, 154, 164},
      {"shufflenet-v2-12-int8", 43754, 180, 183},
  };
  int found = 0;
  for (const ModelBudget& budget : kBudgets) {
    CompileOptions options;
    options.devices = kBoth;
    options.prefer_gpu = true;
    options.targets = {"x86-64-v3"};
    const std::string path = fmt::format("{}/models/{}/model.onnx", SharedPath(), budget.name);
    if (!std::filesystem::exists(path)) continue;
    ++found;
    auto compiled = GetCompiler().CompileFile(path, options);
    ASSERT_TRUE(compiled) << compiled.error().message;
    Work work{compiled->work.begin(), compiled->work.end()};
    EXPECT_EQ(work.at("placements"), 1) << budget.name;
    EXPECT_LE(work.at("nodes after passes"), budget.nodes_after_passes) << budget.name;
    EXPECT_LE(work.at("schedules made"), budget.schedules_made) << budget.name;
    EXPECT_LE(work.at("kernels generated"), budget.kernels_generated) << budget.name;
  }
  if (found == 0) TVMVM_SKIP_WITHOUT("onnx", "no models in " << SharedPath() << "/models");
}

}  // namespace
}  // namespace tvmvm
