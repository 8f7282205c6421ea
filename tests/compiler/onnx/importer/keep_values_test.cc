// Values inside of models as outputs.
#include "compiler/onnx/importer/keep_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/onnx/importer/imported.h"

namespace tvmvm::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

// A Relu, and a loop that multiplies what it carries; in each step it sums up in a loop of its own.
std::string LoopModel() {
  const std::string summing =
      GraphMessage({{{"Add", {"s", "s"}, {"t"}, {}, "double"}, {"Identity", {"c2"}, {"d2"}}},
                    {ValueMessage("j", kOnnxInt64, {}), ValueMessage("c2", kOnnxBool, {}),
                     ValueMessage("s", kOnnxFloat, {int64_t{2}})},
                    {UntypedValue("d2"), UntypedValue("t")}});
  const std::string body =
      GraphMessage({{{"Loop", {"i", "", "a"}, {"m"}, {GraphAttribute("body", summing)}, "inner"},
                     {"Mul", {"m", "h"}, {"b"}},
                     {"Identity", {"c"}, {"d"}}},
                    {ValueMessage("i", kOnnxInt64, {}), ValueMessage("c", kOnnxBool, {}),
                     ValueMessage("a", kOnnxFloat, {int64_t{2}})},
                    {UntypedValue("d"), UntypedValue("b")}});
  GraphText graph = OneNode({"Relu", {"x"}, {"h"}, {}, "first"}, {int64_t{2}});
  graph.inputs.push_back(ValueMessage("n", kOnnxInt64, {}));
  graph.nodes.push_back({"Loop", {"n", "", "h"}, {"y"}, {GraphAttribute("body", body)}, "outer"});
  return ModelMessage(graph);
}

// The outputs of the program, with their types, where these names are kept.
Names OutputsWith(const Names& names, Names* kept) {
  const std::string bytes = LoopModel();
  Expected<OnnxModel> model = ReadOnnxBytes(BytesOf(bytes));
  EXPECT_TRUE(model);
  auto found = KeepValues(names, &*model);
  if (!found) return {found.error().message};
  *kept = *std::move(found);
  auto module = ImportOnnx(*model, {});
  if (!module) return {module.error().message};
  Names outputs = module->main().output_names;
  const Function& main = module->main();
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] += ": " + main.type(main.region(main.body).results.at(i)).ToString();
  return outputs;
}

TEST(KeepValues, ByNodeAndByName) {
  Names kept;
  EXPECT_THAT(OutputsWith({"first"}, &kept), ElementsAre("y: tensor<f32,[2]>", "h: tensor<f32,[2]>"));
  EXPECT_THAT(kept, ElementsAre("h"));
  EXPECT_THAT(OutputsWith({"h", "first", "outer"}, &kept),
              ElementsAre("y: tensor<f32,[2]>", "h: tensor<f32,[2]>"));
  EXPECT_THAT(kept, ElementsAre("h", "y"));
  EXPECT_THAT(OutputsWith({"x"}, &kept), ElementsAre("y: tensor<f32,[2]>"));
  EXPECT_THAT(kept, IsEmpty());  // a graph's input is not made
}

TEST(KeepValues, BodiesOfLoopsCollect) {
  Names kept;
  Names outputs = OutputsWith({"b"}, &kept);
  EXPECT_THAT(kept, ElementsAre("b_steps"));
  ASSERT_EQ(outputs.size(), 2u) << outputs[0];
  EXPECT_THAT(outputs[1], HasSubstr("b_steps: tensor<f32,["));
  outputs = OutputsWith({"Mul_0"}, &kept);  // an unnamed node
  EXPECT_THAT(kept, ElementsAre("b_steps"));
}

TEST(KeepValues, LoopsInLoops) {
  Names kept;
  const Names outputs = OutputsWith({"double"}, &kept);
  EXPECT_THAT(kept, ElementsAre("t_steps_steps"));
  ASSERT_EQ(outputs.size(), 2u) << outputs[0];
}

TEST(KeepValues, WhatIsNotThere) {
  Names kept;
  EXPECT_THAT(OutputsWith({"nobody"}, &kept), ElementsAre("the model has no value or node named 'nobody'"));
}

}  // namespace
}  // namespace tvmvm::ir
