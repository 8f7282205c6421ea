// Models that break ONNX's rules, or leave something open, in ways that do not hide what they mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/onnx/importer/imported.h"

namespace tvmvm::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kTwo = 2;

ImportOptions Strict() {
  ImportOptions options;
  options.strict = true;
  return options;
}

// Imports with this one warning, and not at all where the import is strict.
Imported ExpectWarning(const std::string& model, const std::string& warning) {
  Imported imported(model);
  EXPECT_TRUE(imported.module) << imported.error();
  EXPECT_THAT(imported.warnings, ElementsAre(warning));
  Imported strict(model, Strict());
  EXPECT_EQ(strict.error(), "not as ONNX wants it: " + warning);
  return imported;
}

TEST(ForeignModels, NodesInAnyOrderAreSorted) {
  GraphText graph = OneNode({"Relu", {"late"}, {"y"}, {}, "a"}, {kTwo});
  graph.nodes.push_back({"Neg", {"x"}, {"late"}, {}, "b"});
  Imported model = ExpectWarning(ModelMessage(graph), "nodes are not in execution order: they are sorted");
  EXPECT_THAT(model.operators(), ElementsAre("neg", "max"));
}

TEST(ForeignModels, NodesOfSubgraphsAndFunctionsAreSorted) {
  auto branch = [](const char* op) {
    return GraphMessage({{{"Relu", {"u"}, {"t"}}, {op, {"late"}, {"u"}}}, {}, {UntypedValue("t")}});
  };
  GraphText graph =
      OneNode({"If",
               {"c"},
               {"h"},
               {GraphAttribute("then_branch", branch("Neg")), GraphAttribute("else_branch", branch("Abs"))}},
              {kTwo});
  graph.inputs.push_back(ValueMessage("c", kOnnxBool, {}));
  graph.nodes.push_back({"F", {"h"}, {"y"}, {}, "", "my"});
  graph.nodes.push_back({"Exp", {"x"}, {"late"}});
  FunctionText function{"my", "F", {"a"}, {"b"}, {{"Neg", {"t"}, {"b"}}, {"Exp", {"a"}, {"t"}}}};
  Imported model = ExpectWarning(ModelMessage(graph, 13, 8, {function}),
                                 "nodes are not in execution order: they are sorted");
  EXPECT_THAT(model.operators(), ElementsAre("exp", "define_dims", "if", "exp", "neg"));
}

TEST(ForeignModels, CyclesAreErrors) {
  GraphText graph = OneNode({"Add", {"x", "b"}, {"y"}, {}, "sum"}, {kTwo});
  graph.nodes.push_back({"Neg", {"y"}, {"b"}});
  EXPECT_THAT(Imported(ModelMessage(graph)).error(), HasSubstr("nodes form a cycle"));
  EXPECT_THAT(Imported(ModelMessage(graph)).error(), HasSubstr("the Neg at position 1, 'sum' (Add)"));
}

TEST(ForeignModels, DeadNodesDoNotStopAModel) {
  GraphText graph = OneNode({"Relu", {"x"}, {"y"}}, {kTwo});
  graph.nodes.push_back({"Nonsense", {"x"}, {"a"}, {}, "first"});
  graph.nodes.push_back({"Foo", {"a"}, {"b"}, {}, "", "not.imported"});
  graph.nodes.push_back({"Relu", {"nowhere"}, {"c"}});
  graph.nodes.push_back({"Relu", {"strings"}, {"d"}, {IntAttribute("speed", 3)}});
  graph.nodes.push_back(
      {"Constant", {}, {"e"}, {TensorAttribute("value", TensorMessage("", 77, {1}, "1234"))}});
  graph.nodes.push_back({"Reshape", {"x", "odd"}, {"f"}});
  graph.initializers = {StringTensor("strings", {"a"}), TensorMessage("odd", 77, {1}, "1234")};
  Imported model(ModelMessage(graph));
  ASSERT_TRUE(model.module) << model.error();
  EXPECT_THAT(model.operators(), ElementsAre("max"));
  EXPECT_THAT(model.warnings,
              ElementsAre("operators that are not supported are left out, since nothing uses what they make: "
                          "'first' (Nonsense), the Foo at position 2"));
  // They break no rule.
  EXPECT_TRUE(Imported(ModelMessage(graph), Strict()).module);
}

TEST(ForeignModels, WhatIsDeadInFunctionsAndSubgraphsDoesNotCount) {
  FunctionText function{
      "my", "F", {"a"}, {"b", "c"}, {{"Neg", {"a"}, {"b"}}, {"Nonsense", {"a"}, {"c"}, {}, "never"}}};
  GraphText graph = OneNode({"F", {"x"}, {"y", "unused"}, {}, "call", "my"}, {kTwo});
  Imported model(ModelMessage(graph, 13, 8, {function}));
  ASSERT_TRUE(model.module) << model.error();
  EXPECT_THAT(model.operators(), ElementsAre("neg"));
  ImportOptions keeps_all;
  keeps_all.keep_all_values = true;
  Imported kept(ModelMessage(graph, 13, 8, {function}), keeps_all);
  ASSERT_TRUE(kept.module) << kept.error();
  EXPECT_THAT(kept.module->main().output_names, ElementsAre("y"));
  graph.outputs.push_back(UntypedValue("unused"));
  EXPECT_EQ(Imported(ModelMessage(graph, 13, 8, {function})).error(),
            "operator ai.onnx.Nonsense version 13 is not supported: node 'call/never'");
}

TEST(ForeignModels, TensorsThatCannotBeReadAreErrorsWhereTheyAreUsed) {
  GraphText graph = OneNode({"Add", {"x", "odd"}, {"y"}}, {kTwo}, {TensorMessage("odd", 77, {1}, "1234")});
  EXPECT_THAT(Imported(ModelMessage(graph)).error(), HasSubstr("tensor 'odd': element type 77 is unknown"));
  GraphText constant = OneNode({"Add", {"x", "c"}, {"y"}}, {kTwo});
  constant.nodes.push_back(
      {"Constant", {}, {"c"}, {TensorAttribute("value", TensorMessage("", 77, {1}, "1234"))}, "odd"});
  EXPECT_THAT(Imported(ModelMessage(constant)).error(), HasSubstr("node 'odd' (Constant): tensor ''"));
}

TEST(ForeignModels, AttributesThatAnOperatorDoesNotHaveAreIgnored) {
  Imported model =
      ExpectWarning(ModelMessage(OneNode({"Relu", {"x"}, {"y"}, {IntAttribute("speed", 1)}, "a"}, {kTwo})),
                    "operator ai.onnx.Relu version 13 has no attribute 'speed': it is ignored: node 'a'");
  EXPECT_THAT(model.operators(), ElementsAre("max"));
}

// Axes were an attribute once: without them the sum would be another one.
TEST(ForeignModels, AttributesOfOlderVersionsKeepTheirMeaning) {
  GraphText graph =
      OneNode({"ReduceSum", {"x"}, {"y"}, {IntsAttribute("axes", {1})}, "a"}, {kTwo, int64_t{3}});
  Imported model = ExpectWarning(ModelMessage(graph),
                                 "operator ai.onnx.ReduceSum version 13 has no attribute 'axes': it is taken "
                                 "as version 12, which has: node 'a'");
  EXPECT_EQ(model.output(), "tensor<f32,[2,1]>");
  graph = OneNode({"ReduceSum", {"x", "i"}, {"y"}, {IntsAttribute("axes", {1})}, "a"}, {kTwo, int64_t{3}},
                  {Int64Tensor("i", {0})});
  model =
      ExpectWarning(ModelMessage(graph),
                    "operator ai.onnx.ReduceSum version 13 has no attribute 'axes': it is ignored: node 'a'");
  EXPECT_EQ(model.output(), "tensor<f32,[1,3]>");
}

TEST(ForeignModels, KnownDomainsThatAreNotImportedAreTakenAsTheirNewest) {
  ExpectWarning(ModelMessage(OneNode({"Normalizer", {"x"}, {"y"}, {}, "a", "ai.onnx.ml"}, {kTwo, kTwo})),
                "the domain 'ai.onnx.ml' is not imported: version 5 is taken: node 'a'");
  ExpectWarning(ModelMessage(OneNode({"Gelu", {"x"}, {"y"}, {}, "a", "com.microsoft"}, {kTwo})),
                "the domain 'com.microsoft' is not imported: version 1 is taken: node 'a'");
  GraphText graph = OneNode({"Relu", {"x"}, {"y"}, {}, "a"}, {kTwo});
  ExpectWarning(Message([&](auto& w) {
                  w.add_int64(1, 8);
                  w.add_message(7, GraphMessage(graph));
                }),
                "the domain 'ai.onnx' is not imported: version 28 is taken: node 'a'");
  EXPECT_EQ(Imported(ModelMessage(OneNode({"Relu", {"x"}, {"y"}, {}, "a", "other"}, {kTwo}))).error(),
            "node 'a' (Relu): the domain 'other' is not imported");
}

TEST(ForeignModels, FunctionsMayUseWhatTheModelImports) {
  FunctionText function{"my", "F", {"a"}, {"b"}, {{"Gelu", {"a"}, {"b"}, {}, "g", "com.microsoft"}}};
  std::string model = ModelMessage(OneNode({"F", {"x"}, {"y"}, {}, "call", "my"}, {kTwo}), 13, 8, {function});
  model += Message([](auto& w) { w.add_message(8, OpsetMessage("com.microsoft", 1)); });
  ExpectWarning(
      model,
      "a function uses the domain 'com.microsoft', which it does not import: version 1 is taken, which "
      "the model imports: node 'call/g'");
}

TEST(ForeignModels, OpsetsThatAreNotKnownAreTakenAsTheNewest) {
  ExpectWarning(ModelMessage(OneNode({"Relu", {"x"}, {"y"}, {}, "a"}, {kTwo}), 99),
                "opset 99 of ai.onnx is not known: it is taken as 28, the newest that is: node 'a'");
}

TEST(ForeignModels, OutputsThatAreListedTwiceGetNamesOfTheirOwn) {
  GraphText graph = OneNode({"Relu", {"x"}, {"y"}}, {kTwo});
  graph.outputs.push_back(graph.outputs[0]);
  Imported model =
      ExpectWarning(ModelMessage(graph), "the output 'y' is listed twice: it is also called 'y_1'");
  EXPECT_THAT(model.module->main().output_names, ElementsAre("y", "y_1"));
}

TEST(ForeignModels, EmptyNamesOfInputsAndOutputs) {
  GraphText graph = OneNode({"Relu", {"x"}, {"y"}}, {kTwo});
  graph.inputs.push_back(ValueMessage("", kOnnxFloat, {kTwo}));
  Imported model =
      ExpectWarning(ModelMessage(graph), "the graph input 1 has no name: it is called 'input_1'");
  EXPECT_THAT(model.module->main().input_names, ElementsAre("x", "input_1"));
  graph.inputs.pop_back();
  graph.outputs.push_back(UntypedValue(""));
  model = ExpectWarning(ModelMessage(graph), "a graph output has no name: it is ignored");
  EXPECT_THAT(model.module->main().output_names, ElementsAre("y"));
}

TEST(ForeignModels, WhatNodesComputeCountsBeforeWhatIsDeclared) {
  GraphText graph = OneNode({"Relu", {"x"}, {"h"}}, {kTwo});
  graph.nodes.push_back({"Neg", {"h"}, {"y"}});
  graph.value_infos = {ValueMessage("h", kOnnxFloat, {int64_t{7}}), ValueMessage("y", kOnnxInt64, {kTwo}),
                       ValueMessage("nowhere", kOnnxInt64, {kTwo})};
  ExpectWarning(
      ModelMessage(graph),
      "values are declared with other types than are computed, which count: "
      "'h' (declared f32[7], computed tensor<f32,[2]>), 'y' (declared i64[2], computed tensor<f32,[2]>)");
  graph.value_infos = {ValueMessage("h", kOnnxFloat, {"n"}), UntypedValue("y")};
  EXPECT_THAT(Imported(ModelMessage(graph)).warnings, IsEmpty());
}

TEST(ForeignModels, TheLastOfTwoInitializersCounts) {
  GraphText graph = OneNode({"Reshape", {"x", "s"}, {"y"}}, {kTwo, kTwo},
                            {Int64Tensor("s", {4}), Int64Tensor("s", {1, 4})});
  Imported model =
      ExpectWarning(ModelMessage(graph), "the initializer 's' is there twice: the last one counts");
  EXPECT_EQ(model.output(), "tensor<f32,[1,4]>");
}

TEST(ForeignModels, EmptyInputsBehindTheLastAreIgnored) {
  ExpectWarning(
      ModelMessage(OneNode({"Relu", {"x", "", ""}, {"y"}, {}, "a"}, {kTwo})),
      "operator ai.onnx.Relu version 13 has at most 1 inputs: empty ones behind them are ignored: node 'a'");
}

TEST(ForeignModels, InputsWithADefaultAreNoted) {
  GraphText graph =
      OneNode({"Add", {"x", "w"}, {"y"}}, {kTwo}, {TensorMessage("w", kOnnxFloat, {2}, std::string(8, 0))});
  graph.inputs.push_back(ValueMessage("w", kOnnxFloat, {kTwo}));
  Imported model(ModelMessage(graph, 7, 4), Strict());
  ASSERT_TRUE(model.module) << model.error();
  EXPECT_THAT(model.warnings,
              ElementsAre("inputs that have a default value are constants of the program, not inputs: 'w'"));
  EXPECT_THAT(Imported(ModelMessage(graph, 7, 3)).warnings, IsEmpty());
}

TEST(ForeignModels, ManyNodesWithOneFaultAreOneWarning) {
  GraphText graph = OneNode({"Relu", {"x"}, {"v0"}}, {kTwo});
  for (int i = 0; i < 12; ++i)
    graph.nodes.push_back({"Relu",
                           {"v" + std::to_string(i)},
                           {i == 11 ? "y" : "v" + std::to_string(i + 1)},
                           {IntAttribute("speed", 1)},
                           "n" + std::to_string(i)});
  Imported model(ModelMessage(graph));
  ASSERT_EQ(model.warnings.size(), 1u);
  EXPECT_THAT(model.warnings[0], HasSubstr("it is ignored: node 'n0', node 'n1',"));
  EXPECT_THAT(model.warnings[0], ::testing::EndsWith("node 'n9' and 2 more"));
}

// ---- names of dimensions ----

TEST(ForeignModels, PlaceholdersAreDimsOfTheirOwn) {
  for (const char* name : {"_", "?", "-1", "None", "none", "unk__7", "unknown", "*", ""}) {
    GraphText graph = OneNode({"Identity", {"x"}, {"y"}}, {name, name});
    EXPECT_EQ(Imported(ModelMessage(graph)).output(), "tensor<f32,[x_0,x_1]>") << name;
  }
  for (const char* name : {"N", "batch_size", "_n", "none_of_these", "\xc3\xb1"}) {
    GraphText graph = OneNode({"Identity", {"x"}, {"y"}}, {name, name});
    Imported model(ModelMessage(graph));
    ASSERT_TRUE(model.module) << model.error();
    EXPECT_EQ(model.module->symbols.size(), 1u) << name;
  }
}

TEST(ForeignModels, DimsOfOneNameCanBeDistinct) {
  GraphText graph = OneNode({"Identity", {"x"}, {"y"}}, {"n", "n"});
  graph.inputs.push_back(ValueMessage("z", kOnnxFloat, {"n", "m"}));
  graph.nodes.push_back({"Identity", {"z"}, {"w"}});
  graph.outputs.push_back(ValueMessage("w", kOnnxFloat, {"n", "m"}));
  EXPECT_EQ(Imported(ModelMessage(graph)).output(1), "tensor<f32,[n,m]>");
  ImportOptions options;
  options.distinct_dims = true;
  options.dims["n"] = {1, 8};
  options.dims["z_0"] = {2, 4};
  Imported model(ModelMessage(graph), options);
  ASSERT_TRUE(model.module) << model.error();
  EXPECT_EQ(model.output(), "tensor<f32,[n,x_1]>");
  EXPECT_EQ(model.output(1), "tensor<f32,[z_0,m]>");
  EXPECT_EQ(model.module->symbols.at(SymbolId("x_1")).range.high, 8);
  EXPECT_EQ(model.module->symbols.at(SymbolId("z_0")).range.high, 4);
}

}  // namespace
}  // namespace tvmvm::ir
