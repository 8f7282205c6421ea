#include "compiler/onnx/importer/onnx_importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/onnx/importer/imported.h"

namespace tvmvm::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OnnxImporter, DimensionsBecomeSymbols) {
  Imported model(ModelMessage(
      OneNode({"Relu", {"x"}, {"y"}}, {"batch size", "", int64_t{3}, "batch size", int64_t{-1}})));
  EXPECT_EQ(model.output(), "tensor<f32,[batch_size,x_1,3,batch_size,x_4]>");
  EXPECT_EQ(model.module->symbols.at(SymbolId("x_1")).scope, SymbolScope::kInput);
}

// Whether a symbol comes from inside of a branch, its definition tells, not its name.
TEST(OnnxImporter, SymbolsOfTheModelMayBeNamedLikeFreshOnes) {
  auto branch = [](const char* op) {
    return GraphMessage({{{op, {"x"}, {"b"}}}, {}, {ValueMessage("b", kOnnxFloat, {""})}});
  };
  NodeText choice{"If", {"c"}, {"y"}};
  choice.attributes = {GraphAttribute("then_branch", branch("Neg")),
                       GraphAttribute("else_branch", branch("Abs"))};
  GraphText graph{{choice},
                  {ValueMessage("x", kOnnxFloat, {"s5"}), ValueMessage("c", kOnnxBool, {})},
                  {ValueMessage("y", kOnnxFloat, {""})}};
  Imported model(ModelMessage(graph));
  EXPECT_EQ(model.output(), "tensor<f32,[s5]>");
  ASSERT_TRUE(model.module);
  EXPECT_FALSE(model.module->IsMadeSince(SymbolId("s5"), {0}));
}

TEST(OnnxImporter, FactsBoundAndFixDimensions) {
  ImportOptions options;
  options.dims["n"] = {2, 2};
  options.dims["m"] = {1, 512};
  Imported model(ModelMessage(OneNode({"Relu", {"x"}, {"y"}}, {"n", "m"})), options);
  EXPECT_EQ(model.output(), "tensor<f32,[2,m]>");
  EXPECT_EQ(model.module->symbols.at(SymbolId("m")).range.high, 512);
  options.dims["k"] = {1, 1};
  Imported wrong(ModelMessage(OneNode({"Relu", {"x"}, {"y"}}, {"n", "m"})), options);
  EXPECT_EQ(wrong.error(), "no input has a dimension 'k'; there is 'm'");
}

TEST(OnnxImporter, InitializersThatAreInputsAreConstants) {
  GraphText graph = OneNode({"Add", {"x", "w"}, {"y"}}, {int64_t{2}},
                            {TensorMessage("w", kOnnxFloat, {2}, std::string(8, 0))});
  graph.inputs.push_back(ValueMessage("w", kOnnxFloat, {int64_t{2}}));
  Imported model(ModelMessage(graph, 7, 3));
  ASSERT_TRUE(model.module) << model.error();
  EXPECT_THAT(model.module->main().input_names, ElementsAre("x"));
}

TEST(OnnxImporter, ShapeArithmeticFoldsIntoDims) {
  GraphText graph{{{"Shape", {"x"}, {"s"}},
                   {"Gather", {"s", "zero"}, {"n"}},
                   {"Unsqueeze", {"n", "axes"}, {"n1"}},
                   {"Concat", {"n1", "rest"}, {"target"}, {IntAttribute("axis", 0)}},
                   {"Reshape", {"x", "target"}, {"y"}}},
                  {ValueMessage("x", kOnnxFloat, {"n", "m", int64_t{8}})},
                  {ValueMessage("y", kOnnxFloat, {})},
                  {TensorMessage("zero", kOnnxInt64, {}, std::string(8, 0)), Int64Tensor("axes", {0}),
                   Int64Tensor("rest", {-1, 2, 4})}};
  Imported model(ModelMessage(graph));
  EXPECT_EQ(model.output(), "tensor<f32,[n,m,2,4]>");
}

TEST(OnnxImporter, EverythingUnsupportedIsReportedAtOnce) {
  GraphText graph{{{"Nonsense", {"x"}, {"a"}, {}, "first"},
                   {"Relu", {"a"}, {"b"}},
                   {"Foo", {"b"}, {"c"}, {}, "second", "my.domain"},
                   {"Nonsense", {"x"}, {"d"}, {}, "third"},
                   {"Relu", {"x"}, {"e"}, {IntAttribute("speed", 1)}, "fourth"}},
                  {ValueMessage("x", kOnnxFloat, {int64_t{1}})},
                  {ValueMessage("c", kOnnxFloat, {}), ValueMessage("d", kOnnxFloat, {})}};
  FunctionText unused{"my.domain", "Bar", {"a"}, {"b"}, {{"Neg", {"a"}, {"b"}}}};
  Imported model(ModelMessage(graph, 13, 8, {unused}));
  EXPECT_EQ(model.error(),
            "operator ai.onnx.Nonsense version 13 is not supported: nodes 'first', 'third'\n"
            "operator my.domain.Foo version 1 is not supported: node 'second'");
  EXPECT_EQ(model.module.error().code, Code::kUnsupported);
}

TEST(OnnxImporter, MalformedNodesAreNamed) {
  auto error = [](NodeText node) {
    return Imported(ModelMessage(OneNode(std::move(node), {int64_t{2}, int64_t{3}}))).error();
  };
  EXPECT_EQ(error({"Add", {"x"}, {"y"}, {}, "sum"}), "node 'sum' (Add): the input 1 is missing");
  EXPECT_EQ(error({"Relu", {"x", "x"}, {"y"}}), "node 'Relu_0' (Relu): 2 inputs, at most 1 are allowed");
  EXPECT_EQ(error({"Relu", {"q"}, {"y"}}),
            "node 'Relu_0' (Relu): the input 'q' is made by no node, input or initializer");
  EXPECT_THAT(error({"Softmax", {"x"}, {"y"}, {IntAttribute("axis", 5)}}),
              HasSubstr("node 'Softmax_0' (Softmax)"));
  EXPECT_EQ(error({"LeakyRelu", {"x"}, {"y"}, {IntAttribute("alpha", 5)}}),
            "node 'LeakyRelu_0' (LeakyRelu): the attribute 'alpha' is not a float");
  EXPECT_EQ(error({"Relu", {"x"}, {"y"}, {}, "", "other"}),
            "node 'Relu_0' (Relu): the domain 'other' is not imported");
}

TEST(OnnxImporter, NamesAreUnique) {
  GraphText twice = OneNode({"Relu", {"x"}, {"y"}}, {int64_t{2}});
  twice.nodes.push_back({"Neg", {"x"}, {"y"}, {}, "b"});
  EXPECT_EQ(Imported(ModelMessage(twice)).error(),
            "the value 'y' is defined twice, the second time by node 'b' (Neg)");
  EXPECT_EQ(Imported(ModelMessage(OneNode({"Relu", {"x"}, {"z"}}, {int64_t{2}}))).error(),
            "the graph output 'y' is made by no node, input or initializer");
  EXPECT_EQ(Imported(ModelMessage(OneNode({"Relu", {"x"}, {"x"}}, {int64_t{2}}))).error(),
            "the graph output 'y' is made by no node, input or initializer");
  EXPECT_EQ(Imported(ModelMessage(OneNode({"Relu", {"x"}, {"y"}}, {int64_t{2}}), 0)).error(),
            "the model imports opset 0 of ai.onnx, the first one is 1");
}

TEST(OnnxImporter, FunctionsAreInlinedWithTheirAttributes) {
  FunctionText scale{"my",
                     "Scale",
                     {"a"},
                     {"b"},
                     {{"LeakyRelu", {"a"}, {"t"}, {ReferenceAttribute("alpha", "slope", 1)}},
                      {"Softmax", {"t"}, {"b"}, {ReferenceAttribute("axis", "where", 2)}}},
                     {"slope"},
                     {IntAttribute("where", 0)}};
  FunctionText outer{
      "my", "Outer", {"a"}, {"b"}, {{"Scale", {"a"}, {"b"}, {FloatAttribute("slope", 0.5f)}, "", "my"}}};
  std::string model = ModelMessage(
      OneNode({"Outer", {"x"}, {"y"}, {}, "call", "my"}, {int64_t{2}, int64_t{3}}), 13, 8, {scale, outer});
  Imported inlined(model);
  ASSERT_TRUE(inlined.module) << inlined.error();
  // The default of the callee's attribute: a softmax over the first axis.
  const Function& main = inlined.module->main();
  for (NodeId id : main.region(main.body).nodes) {
    const Node& node = main.node(id);
    EXPECT_THAT(node.source,
                ::testing::StartsWith(node.op->name == "constant" && node.source.empty() ? "" : "call/"));
    if (node.op->name == "reduce") {
      EXPECT_EQ(main.type(node.outputs[0]).ToString(), "tensor<f32,[1,3]>");
    }
  }
  EXPECT_THAT(inlined.operators(), ::testing::Contains("reduce"));
}

TEST(OnnxImporter, FunctionsThatCallThemselvesAreRefused) {
  FunctionText loop{"my", "Loopy", {"a"}, {"b"}, {{"Loopy", {"a"}, {"b"}, {}, "", "my"}}};
  std::string model =
      ModelMessage(OneNode({"Loopy", {"x"}, {"y"}, {}, "", "my"}, {int64_t{2}}), 13, 8, {loop});
  EXPECT_THAT(Imported(model).error(), HasSubstr("nested too deeply, or a function calls itself"));
}

TEST(OnnxImporter, ConstantConditionsTakeTheirBranchInPlace) {
  std::string then_graph = GraphMessage({{{"Neg", {"x"}, {"t"}}}, {}, {ValueMessage("t", kOnnxFloat, {})}});
  std::string else_graph =
      GraphMessage({{{"Nonsense", {"x"}, {"t"}}}, {}, {ValueMessage("t", kOnnxFloat, {})}});
  GraphText graph =
      OneNode({"If",
               {"c"},
               {"y"},
               {GraphAttribute("then_branch", then_graph), GraphAttribute("else_branch", else_graph)}},
              {int64_t{2}}, {TensorMessage("c", kOnnxBool, {}, std::string(1, 1))});
  Imported model(ModelMessage(graph));
  ASSERT_TRUE(model.module) << model.error();
  EXPECT_THAT(model.operators(), ElementsAre("neg"));
}

TEST(OnnxImporter, AllValuesCanBeKept) {
  GraphText graph = OneNode({"Relu", {"x"}, {"h"}}, {int64_t{2}});
  graph.nodes.push_back({"Neg", {"h"}, {"y"}});
  ImportOptions options;
  options.keep_all_values = true;
  Imported model(ModelMessage(graph), options);
  ASSERT_TRUE(model.module) << model.error();
  EXPECT_THAT(model.module->main().output_names, ElementsAre("y", "h"));
}

TEST(OnnxImporter, DeclaredOutputsThatDifferAreWarnings) {
  GraphText graph = OneNode({"Relu", {"x"}, {"y"}}, {int64_t{2}});
  graph.outputs = {ValueMessage("y", kOnnxFloat, {int64_t{7}})};
  Imported model(ModelMessage(graph));
  ASSERT_TRUE(model.module) << model.error();
  EXPECT_THAT(model.warnings,
              ElementsAre("the output 'y' is declared with another type (f32[7]) than the computed "
                          "tensor<f32,[2]>, which counts"));
}

TEST(OnnxImporter, VersionsKeepTheirMeaning) {
  auto output = [](NodeText node, std::vector<DimText> dims, int64_t opset,
                   std::vector<std::string> initializers = {}) {
    return Imported(ModelMessage(OneNode(std::move(node), std::move(dims), std::move(initializers)), opset))
        .output();
  };
  std::vector<DimText> dims{"n", int64_t{4}, int64_t{5}};
  std::string bias = TensorMessage("w", kOnnxFloat, {4}, std::string(16, 0));
  EXPECT_EQ(output({"Add", {"x", "w"}, {"y"}, {IntAttribute("axis", 1), IntAttribute("broadcast", 1)}}, dims,
                   6, {bias}),
            "tensor<f32,[n,4,5]>");
  EXPECT_THAT(output({"Add", {"x", "w"}, {"y"}}, dims, 7, {bias}), HasSubstr("do not broadcast"));
  EXPECT_EQ(output({"Unsqueeze", {"x"}, {"y"}, {IntsAttribute("axes", {0, 4})}}, dims, 11),
            "tensor<f32,[1,n,4,5,1]>");
  EXPECT_EQ(output({"Unsqueeze", {"x", "a"}, {"y"}}, dims, 13, {Int64Tensor("a", {-1})}),
            "tensor<f32,[n,4,5,1]>");
  EXPECT_EQ(output({"Slice", {"x", "s", "e", "a", "t"}, {"y"}}, dims, 13,
                   {Int64Tensor("s", {-1, 10}), Int64Tensor("e", {-100, 0}), Int64Tensor("a", {1, -1}),
                    Int64Tensor("t", {-1, -2})}),
            "tensor<f32,[n,4,2]>");
  EXPECT_EQ(output({"ReduceSum", {"x", "a"}, {"y"}, {IntAttribute("keepdims", 0)}}, dims, 13,
                   {Int64Tensor("a", {-2})}),
            "tensor<f32,[n,5]>");
  EXPECT_EQ(output({"ReduceMean", {"x"}, {"y"}, {IntsAttribute("axes", {1})}}, dims, 11),
            "tensor<f32,[n,1,5]>");
  EXPECT_EQ(output({"Flatten", {"x"}, {"y"}}, dims, 11), "tensor<f32,[n,20]>");
}

}  // namespace
}  // namespace tvmvm::ir
