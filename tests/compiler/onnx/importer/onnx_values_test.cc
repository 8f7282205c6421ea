// ONNX operators on sequences, optionals and strings, and those whose results' sizes depend on the data: the
// core nodes that they become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"
#include "tests/compiler/onnx/importer/imported.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"

namespace tvmvm::ir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRows = TensorType(kOnnxFloat, {"", int64_t{3}});  // f32[?, 3]

// The body of the imported function, constants left out; or the error. Verified.
std::string Import(const GraphText& graph, int64_t opset = 20) {
  std::string bytes = ModelMessage(graph, opset);
  auto model = ReadOnnxBytes(BytesOf(bytes));
  if (!model) return model.error().message;
  auto module = ImportOnnx(*model, {}, nullptr);
  if (!module) return module.error().message;
  if (Status status = VerifyModule(*module); !status) return "broken: " + status.error().message;
  std::string text, line;
  std::istringstream lines(PrintModule(*module));
  while (std::getline(lines, line)) {
    bool is_node = line.starts_with("  ") && !line.starts_with("  input") &&
                   line.find("constant()") == std::string::npos;
    if (is_node) text += line.substr(2, line.find(" from \"") - 2) + "\n";
  }
  return text;
}

std::string ImportNode(NodeText node, std::vector<std::string> inputs,
                       std::vector<std::string> initializers = {}, int64_t opset = 20) {
  GraphText graph;
  for (const std::string& output : node.outputs)
    if (!output.empty()) graph.outputs.push_back(ValueMessage(output, kOnnxFloat, {}));
  graph.nodes = {std::move(node)};
  graph.inputs = std::move(inputs);
  graph.initializers = std::move(initializers);
  return Import(graph, opset);
}

// ---- sequences ----

TEST(OnnxSequences, ConstructionJoinsTheTypes) {
  EXPECT_EQ(ImportNode({"SequenceConstruct", {"x", "y", "x"}, {"s"}},
                       {ValueOfType("x", kRows), ValueMessage("y", kOnnxFloat, {int64_t{2}, int64_t{3}})}),
            "%2 \"s\": sequence<tensor<f32,[?,3]>> = sequence.construct(%0, %1, %0)\noutput \"s\" = %2\n");
  EXPECT_THAT(ImportNode({"SequenceConstruct", {"x", "y"}, {"s"}},
                         {ValueOfType("x", kRows), ValueMessage("y", kOnnxFloat, {int64_t{2}})}),
              HasSubstr("sequence<tensor<f32,rank 1 2>> = "));
  EXPECT_THAT(ImportNode({"SequenceConstruct", {"x", "y"}, {"s"}},
                         {ValueOfType("x", kRows), ValueMessage("y", kOnnxInt64, {int64_t{2}})}),
              HasSubstr("tensor<i64,[2]> as an element of sequence<tensor<f32,[?,3]>>"));
  EXPECT_THAT(ImportNode({"SequenceEmpty", {}, {"s"}, {IntAttribute("dtype", kOnnxInt64)}}, {}),
              HasSubstr("sequence<> = sequence.construct()"));
}

TEST(OnnxSequences, InsertionAtTheEndAsksForTheLength) {
  EXPECT_EQ(ImportNode({"SequenceInsert", {"s", "x"}, {"r"}},
                       {ValueOfType("s", SequenceType(kRows)), ValueOfType("x", kRows)}),
            "sequence.length(%0) {symbols = strings[\"s0\"]}\n"
            "%2 \"r\": sequence<tensor<f32,[?,3]>> = sequence.insert(%0, %1) {scalars = dims[s0, 0]}\n"
            "output \"r\" = %2\n");
  EXPECT_THAT(
      ImportNode({"SequenceInsert", {"s", "x", "p"}, {"r"}},
                 {ValueOfType("s", SequenceType(kRows)), ValueOfType("x", kRows)}, {Int64Tensor("p", {-2})}),
      HasSubstr("sequence.insert(%0, %1) {scalars = dims[-2, 0]}"));
  EXPECT_THAT(ImportNode({"SequenceInsert", {"s", "x"}, {"r"}},
                         {ValueOfType("s", SequenceType(kRows)), ValueMessage("x", kOnnxInt64, {})}),
              HasSubstr("tensor<i64,[]> as an element of sequence<tensor<f32,[?,3]>>"));
}

TEST(OnnxSequences, ElementsGetSymbolsOfTheirOwn) {
  EXPECT_EQ(ImportNode({"SequenceAt", {"s", "p"}, {"x"}},
                       {ValueOfType("s", SequenceType(kRows)), ValueMessage("p", kOnnxInt64, {})}),
            "define_dims(%1) {symbols = strings[\"signed_1\"]}\n"
            "%2 \"x\": tensor<f32,[s0,3]> = sequence.at(%0) {scalars = dims[signed_1]}\noutput \"x\" = %2\n");
  GraphText graph{{{"SequenceEmpty", {}, {"e"}}, {"SequenceAt", {"e", "p"}, {"x"}}},
                  {ValueMessage("p", kOnnxInt64, {})},
                  {ValueMessage("x", kOnnxFloat, {})}};
  EXPECT_THAT(Import(graph), HasSubstr("the sequence never has an element"));
  EXPECT_THAT(ImportNode({"SequenceAt", {"p", "p"}, {"x"}}, {ValueMessage("p", kOnnxInt64, {})}),
              HasSubstr("the input 0 is tensor<i64,[]>, a sequence is wanted"));
}

TEST(OnnxSequences, EraseTakesTheLastByDefault) {
  EXPECT_THAT(ImportNode({"SequenceErase", {"s"}, {"r"}}, {ValueOfType("s", SequenceType(kRows))}),
              HasSubstr("sequence<tensor<f32,[?,3]>> = sequence.erase(%0) {scalars = dims[-1, 0]}"));
}

TEST(OnnxSequences, TheLengthIsADim) {
  EXPECT_EQ(
      ImportNode({"SequenceLength", {"s"}, {"n"}}, {ValueOfType("s", SequenceType(kRows))}),
      "sequence.length(%0) {symbols = strings[\"s0\"]}\n"
      "%1 \"n\": tensor<i64,[]> of [s0] = dims_tensor() {dims = dims[], dtype = i64, elements = dims[s0]}\n"
      "output \"n\" = %1\n");
}

TEST(OnnxSequences, SplitAndConcat) {
  EXPECT_THAT(
      ImportNode({"SplitToSequence", {"x"}, {"s"}, {IntAttribute("axis", -1)}}, {ValueOfType("x", kRows)}),
      HasSubstr("sequence<tensor<f32,[?,1]>> = sequence.split(%0, _) {scalars = dims[1, 1]}"));
  EXPECT_THAT(
      ImportNode({"SplitToSequence", {"x"}, {"s"}, {IntAttribute("keepdims", 0)}}, {ValueOfType("x", kRows)}),
      HasSubstr("sequence<tensor<f32,[3]>> = sequence.split(%0, _) {scalars = dims[0, 0]}"));
  EXPECT_THAT(ImportNode({"SplitToSequence", {"x", "n"}, {"s"}, {IntAttribute("keepdims", 0)}},
                         {ValueOfType("x", kRows), ValueMessage("n", kOnnxInt64, {int64_t{2}})}),
              HasSubstr("sequence<tensor<f32,[?,3]>> = sequence.split(%0, %1) {scalars = dims[0, 1]}"));
  EXPECT_THAT(ImportNode({"ConcatFromSequence", {"s"}, {"x"}, {IntAttribute("axis", 1)}},
                         {ValueOfType("s", SequenceType(kRows))}),
              HasSubstr("tensor<f32,[s0,s1]> = sequence.concat(%0) {scalars = dims[1, 0]}"));
  EXPECT_THAT(
      ImportNode(
          {"ConcatFromSequence", {"s"}, {"x"}, {IntAttribute("axis", -1), IntAttribute("new_axis", 1)}},
          {ValueOfType("s", SequenceType(kRows))}),
      HasSubstr("tensor<f32,[s0,3,s1]> = sequence.concat(%0) {scalars = dims[2, 1]}"));
  EXPECT_THAT(ImportNode({"ConcatFromSequence", {"s"}, {"x"}, {IntAttribute("axis", 2)}},
                         {ValueOfType("s", SequenceType(kRows))}),
              HasSubstr("axis 2 is out of range for rank 2"));
}

TEST(OnnxSequences, OtherOperatorsRefuseThem) {
  EXPECT_THAT(ImportNode({"Relu", {"s"}, {"y"}}, {ValueOfType("s", SequenceType(kRows))}),
              HasSubstr("an input 's' of type sequence<tensor<f32,[?,3]>>"));
}

// ---- optionals ----

TEST(OnnxOptionals, HoldAnElementOrNone) {
  EXPECT_THAT(ImportNode({"Optional", {"x"}, {"o"}}, {ValueOfType("x", kRows)}),
              HasSubstr("optional<tensor<f32,[?,3]>> = optional.make(%0)"));
  EXPECT_THAT(ImportNode({"Optional", {}, {"o"}}, {}), HasSubstr("optional<> = optional.make(_)"));
  EXPECT_EQ(
      ImportNode({"OptionalHasElement", {"o"}, {"y"}}, {ValueOfType("o", OptionalType(kRows))}),
      "optional.has(%0) {symbols = strings[\"s0\"]}\n"
      "%1 \"y\": tensor<bool,[]> of [s0] = dims_tensor() {dims = dims[], dtype = bool, elements = dims[s0]}\n"
      "output \"y\" = %1\n");
  EXPECT_THAT(
      ImportNode({"OptionalGetElement", {"o"}, {"y"}}, {ValueOfType("o", OptionalType(SequenceType(kRows)))}),
      HasSubstr("sequence<tensor<f32,[?,3]>> = optional.get(%0)"));
  EXPECT_THAT(ImportNode({"OptionalGetElement", {"o"}, {"y"}}, {ValueOfType("o", OptionalType(kRows))}),
              HasSubstr("tensor<f32,[s0,3]> = optional.get(%0)"));
}

TEST(OnnxOptionals, OtherValuesHaveAnElement) {
  EXPECT_EQ(ImportNode({"OptionalGetElement", {"x"}, {"y"}}, {ValueOfType("x", kRows)}),
            "output \"y\" = %0\n");
  EXPECT_EQ(ImportNode({"OptionalHasElement", {"x"}, {"y"}}, {ValueOfType("x", SequenceType(kRows))}),
            "output \"y\" = %1\n");
  EXPECT_EQ(ImportNode({"OptionalHasElement", {""}, {"y"}}, {}), "output \"y\" = %0\n");
}

// ---- strings ----

const std::string kTexts = TensorType(kOnnxString, {"n"});

TEST(OnnxStrings, MoveAsPositions) {
  EXPECT_EQ(ImportNode({"Concat", {"a", "b"}, {"y"}, {IntAttribute("axis", 0)}},
                       {ValueOfType("a", kTexts), ValueMessage("b", kOnnxString, {int64_t{2}})}),
            "%2: tensor<i64,[n]> = iota() {axis = 0, dims = dims[n], dtype = i64}\n"
            "%4: tensor<i64,[]> of [n] = dims_tensor() {dims = dims[], dtype = i64, elements = dims[n]}\n"
            "%5: tensor<i64,[2]> of [n, n+1] = add(%3, %4)\n"
            "%6: tensor<i64,[n+2]> = concat(%2, %5) {axis = 0}\n"
            "%7 \"y\": tensor<string,[n+2]> = string.take(%6, %0, %1)\n"
            "output \"y\" = %7\n");
  std::string where = ImportNode({"Where", {"c", "a", "a"}, {"y"}},
                                 {ValueMessage("c", kOnnxBool, {"n"}), ValueOfType("a", kTexts)});
  EXPECT_THAT(where, HasSubstr("tensor<string,[n]> = string.take("));
  EXPECT_THAT(where, Not(HasSubstr("tensor<string,[n]> = where(")));
  // What does not move stays.
  EXPECT_EQ(ImportNode({"Transpose", {"a"}, {"y"}}, {ValueOfType("a", kTexts)}),
            "%1: tensor<i64,[n]> = iota() {axis = 0, dims = dims[n], dtype = i64}\noutput \"y\" = %0\n");
}

TEST(OnnxStrings, EqualComparesNumbers) {
  EXPECT_EQ(ImportNode({"Equal", {"a", "b"}, {"y"}},
                       {ValueOfType("a", kTexts), ValueMessage("b", kOnnxString, {int64_t{1}})}),
            "%2: tensor<i64,[n]>, %3: tensor<i64,[1]> = string.ids(%0, %1)\n"
            "%4 \"y\": tensor<bool,[n]> = equal(%2, %3)\noutput \"y\" = %4\n");
  EXPECT_THAT(
      ImportNode({"Equal", {"a", "b"}, {"y"}}, {ValueOfType("a", kTexts), ValueMessage("b", kOnnxFloat, {})}),
      HasSubstr("strings and tensor<f32,[]>"));
}

TEST(OnnxStrings, ConcatBroadcastsFirst) {
  EXPECT_EQ(ImportNode({"StringConcat", {"a", "a"}, {"y"}}, {ValueOfType("a", kTexts)}),
            "%1 \"y\": tensor<string,[n]> = string.concat(%0, %0)\noutput \"y\" = %1\n");
  std::string text =
      ImportNode({"StringConcat", {"a", "b"}, {"y"}},
                 {ValueOfType("a", kTexts), ValueMessage("b", kOnnxString, {int64_t{2}, int64_t{1}})});
  EXPECT_THAT(text, HasSubstr("tensor<string,[2,n]> = string.take("));
  EXPECT_THAT(text, HasSubstr("tensor<string,[2,n]> = string.concat("));
}

TEST(OnnxStrings, SplitMatchAndNormalize) {
  EXPECT_THAT(
      ImportNode(
          {"StringSplit", {"a"}, {"y", "n"}, {TextAttribute("delimiter", ","), IntAttribute("maxsplit", 2)}},
          {ValueOfType("a", kTexts)}),
      HasSubstr(
          "tensor<string,[n,s0]>, %3 \"n\": tensor<i64,[n]> = string.split(%0, %1) {scalars = dims[2, 1]}"));
  EXPECT_THAT(ImportNode({"StringSplit", {"a"}, {"y", "n"}}, {ValueOfType("a", kTexts)}),
              HasSubstr("string.split(%0, _) {scalars = dims[-1, 0]}"));
  EXPECT_THAT(ImportNode({"RegexFullMatch", {"a"}, {"y"}, {TextAttribute("pattern", "a+")}},
                         {ValueOfType("a", kTexts)}),
              HasSubstr("tensor<bool,[n]> = string.match(%0, %1)"));
  EXPECT_THAT(
      ImportNode({"StringNormalizer",
                  {"a"},
                  {"y"},
                  {TextAttribute("case_change_action", "UPPER"), TextsAttribute("stopwords", {"x", "y"})}},
                 {ValueOfType("a", kTexts)}),
      HasSubstr("tensor<string,[s0]> = string.normalize(%0, %1) {scalars = dims[2, 0]}"));
  EXPECT_THAT(ImportNode({"StringNormalizer", {"a"}, {"y"}, {TextAttribute("case_change_action", "Title")}},
                         {ValueOfType("a", kTexts)}),
              HasSubstr("the attribute 'case_change_action' is 'Title'"));
}

TEST(OnnxStrings, CastsGoThroughTheHost) {
  EXPECT_THAT(
      ImportNode({"Cast", {"a"}, {"y"}, {IntAttribute("to", kOnnxFloat)}}, {ValueOfType("a", kTexts)}),
      HasSubstr("tensor<f32,[n]> = string.to_numbers(%0) {scalars = dims["));
  EXPECT_THAT(
      ImportNode({"Cast", {"x"}, {"y"}, {IntAttribute("to", kOnnxString)}}, {ValueOfType("x", kRows)}),
      HasSubstr("tensor<string,[x_0,3]> = string.from_numbers(%0)\n"));
}

TEST(OnnxStrings, OtherOperatorsRefuseThem) {
  EXPECT_THAT(ImportNode({"Add", {"a", "a"}, {"y"}}, {ValueOfType("a", kTexts)}),
              HasSubstr("an input 'a' of strings"));
  EXPECT_THAT(ImportNode({"Squeeze", {"x", "a"}, {"y"}}, {ValueOfType("x", kRows), ValueOfType("a", kTexts)}),
              HasSubstr("strings beside data of type f32"));
}

TEST(OnnxTypes, OperatorsRefuseTypesThatNoInputOfTheirsHas) {
  const std::vector<DimText> dims{int64_t{1}, int64_t{1}, int64_t{2}, int64_t{2}};
  EXPECT_THAT(ImportNode({"ConvTranspose", {"x", "w"}, {"y"}},
                         {ValueMessage("x", kOnnxFloat, dims), ValueMessage("w", kOnnxComplex64, dims)}),
              HasSubstr("an input 'w' of type c64"));
  EXPECT_THAT(ImportNode({"Expand", {"x", "x"}, {"y"}}, {ValueOfType("x", kRows)}),
              HasSubstr("where a list of integers is wanted"));
}

TEST(OnnxStrings, LabelsAreLookedUp) {
  NodeText node{"LabelEncoder",
                {"a"},
                {"y"},
                {TextsAttribute("keys_strings", {"x", "y"}), IntsAttribute("values_int64s", {7, 8})},
                "",
                "ai.onnx.ml"};
  GraphText graph{{node}, {ValueOfType("a", kTexts)}, {ValueMessage("y", kOnnxInt64, {})}};
  std::string bytes = Message([&](auto& w) {
    w.add_int64(1, 8);
    w.add_message(7, GraphMessage(graph));
    w.add_message(8, OpsetMessage("ai.onnx.ml", 4));
  });
  auto model = ReadOnnxBytes(BytesOf(bytes));
  ASSERT_TRUE(model);
  auto module = ImportOnnx(*model, {}, nullptr);
  ASSERT_TRUE(module) << module.error().message;
  std::string text = PrintModule(*module);
  EXPECT_THAT(text, HasSubstr("= string.ids(%0, %1)"));
  EXPECT_THAT(text, HasSubstr("tensor<i64,[n]> = gather("));
}

// ---- sizes that depend on the data ----

TEST(OnnxSelection, NonZeroCountsThenCompacts) {
  EXPECT_EQ(ImportNode({"NonZero", {"x"}, {"y"}}, {ValueMessage("x", kOnnxBool, {"n"})}),
            "%1: tensor<u64,[n]> = cast(%0) {to = u64}\n"
            "%2: tensor<u64,[1]> = reduce(%1) {flags = dims[1], kind = \"sum\"}\n"
            "define_dims(%2) {symbols = strings[\"s0\"]}\n"
            "%3: tensor<i64,[s0]> = compact(%0) {count = dim(s0)}\n"
            "%4 \"y\": tensor<i64,[1,s0]> = reshape(%3) {dims = dims[1, s0]}\n"
            "output \"y\" = %4\n");
  EXPECT_THAT(ImportNode({"NonZero", {"x"}, {"y"}}, {ValueOfType("x", kRows)}),
              HasSubstr("tensor<i64,[2,s0]> = concat("));
  EXPECT_THAT(ImportNode({"NonZero", {"x"}, {"y"}}, {ValueMessage("x", kOnnxBool, {})}),
              HasSubstr("tensor<i64,[0,s0]>"));
}

TEST(OnnxSelection, CompressGathersWhatIsChosen) {
  std::string text = ImportNode({"Compress", {"x", "c"}, {"y"}, {IntAttribute("axis", -1)}},
                                {ValueOfType("x", kRows), ValueMessage("c", kOnnxBool, {int64_t{2}})});
  EXPECT_THAT(text, HasSubstr("tensor<i64,[s0]> = compact(%1) {count = dim(s0)}"));
  EXPECT_THAT(text, HasSubstr("tensor<f32,[x_0,s0]> = gather(%0, "));
}

TEST(OnnxSelection, UniqueGivesOneSizeToThreeResults) {
  EXPECT_THAT(
      ImportNode({"Unique", {"x"}, {"y", "", "i"}}, {ValueOfType("x", kRows)}),
      HasSubstr("tensor<f32,[s0]>, %2: tensor<i64,[s0]>, %3 \"i\": tensor<i64,[x_0*3]>, %4: tensor<i64,[s0]> "
                "= unique(%0) {scalars = dims[-1, 1]}"));
  EXPECT_THAT(
      ImportNode({"Unique", {"x"}, {"y"}, {IntAttribute("axis", 1), IntAttribute("sorted", 0)}},
                 {ValueOfType("x", kRows)}),
      HasSubstr("tensor<f32,[x_0,s0]>, %2: tensor<i64,[s0]>, %3: tensor<i64,[3]>, %4: tensor<i64,[s0]> = "
                "unique(%0) {scalars = dims[1, 0]}"));
}

TEST(OnnxSelection, NonMaxSuppressionTakesThresholdsAsTensors) {
  std::vector<std::string> inputs{ValueMessage("b", kOnnxFloat, {int64_t{1}, "n", int64_t{4}}),
                                  ValueMessage("s", kOnnxFloat, {int64_t{1}, int64_t{2}, "n"})};
  EXPECT_EQ(ImportNode({"NonMaxSuppression", {"b", "s"}, {"y"}}, inputs),
            "%2 \"y\": tensor<i64,[s0,3]> = non_max_suppression(%0, %1, _, _) {scalars = dims[0, 0]}\n"
            "output \"y\" = %2\n");
  std::vector<std::string> all = inputs;
  all.push_back(ValueMessage("m", kOnnxInt64, {int64_t{1}}));
  all.push_back(ValueMessage("t", kOnnxFloat, {int64_t{1}}));
  EXPECT_THAT(
      ImportNode(
          {"NonMaxSuppression", {"b", "s", "m", "", "t"}, {"y"}, {IntAttribute("center_point_box", 1)}}, all),
      HasSubstr("non_max_suppression(%0, %1, _, %4) {scalars = dims[1, signed_0]}"));
}

// ---- lists whose length only running tells ----

TEST(OnnxLists, ABranchForEachLengthThatTheOperatorTakes) {
  std::vector<std::string> inputs{ValueMessage("x", kOnnxFloat, {"a", "b"}),
                                  ValueMessage("to", kOnnxInt64, {"n"})};
  // A slice takes the lengths 0, 1 and 2; the last needs no test.
  std::string slice = ImportNode({"Slice", {"x", "to", "to"}, {"y"}}, inputs);
  EXPECT_THAT(slice, HasSubstr("if() {condition = dim(eq(n, 0))"));
  EXPECT_THAT(slice, HasSubstr("if() {condition = dim(eq(n, 1))"));
  EXPECT_THAT(slice, Not(HasSubstr("if() {condition = dim(eq(n, 2))")));
  // Where the axes tell the length there is no choice.
  slice = ImportNode({"Slice", {"x", "to", "to", "axes"}, {"y"}}, inputs, {Int64Tensor("axes", {1})});
  EXPECT_THAT(slice, HasSubstr("reshape(%1) {dims = dims[1]}"));
  EXPECT_THAT(slice, Not(HasSubstr("if(")));
  // A reshape takes them all: the result's rank is known when it runs.
  EXPECT_THAT(ImportNode({"Reshape", {"x", "to"}, {"y"}}, inputs), HasSubstr("output \"y\""));
}

// A single operand is joined to itself whatever its rank, as long as it has the axis: the list of its
// elements has it not.
TEST(OnnxLists, AnAxisIsLookedForInEachRank) {
  std::vector<std::string> inputs{ValueMessage("x", kOnnxFloat, {"a", "b", "c"}),
                                  ValueMessage("to", kOnnxInt64, {"n"})};
  auto joined = [&](int64_t axis) {
    return Imported(ModelMessage({{{"Expand", {"x", "to"}, {"wide"}},
                                   {"Concat", {"wide"}, {"y"}, {IntAttribute("axis", axis)}}},
                                  inputs,
                                  {UntypedValue("y")}}))
        .error();
  };
  EXPECT_EQ(joined(2), "no error");
  EXPECT_EQ(joined(-3), "no error");
  EXPECT_THAT(joined(9), HasSubstr("axis 9 is out of range for rank 3"));
}

TEST(OnnxLists, OneElementOfATensorOfAnyRankDecides) {
  EXPECT_THAT(ImportNode({"TopK", {"x", "k"}, {"y", "i"}},
                         {ValueMessage("x", kOnnxFloat, {"n"}), ValueMessage("k", kOnnxInt64, {"m", "m"})}),
              HasSubstr("reshape(%1) {dims = dims[]}"));
}

}  // namespace
}  // namespace tvmvm::ir
