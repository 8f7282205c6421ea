// Nodes with regions that run: their text form, the verifier's rules for them (each has a text that breaks
// it), and what they compute.
#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"

namespace tvmvm::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- text ----

constexpr std::string_view kIf = R"TEXT(symbol a: [-inf, inf]
symbol c: [-inf, inf]
symbol n: [0, inf] input
symbol p: [0, inf]
func @main {
  input "x" = %0: tensor<f32,[n]>
  input "flag" = %1: tensor<i64,[1]>
  define_dims(%1) {symbols = strings["c"]}
  %2: tensor<f32,[p]>, %3: sequence<tensor<f32,[?]>> = if() {condition = dim(c), else_values = dims[n*2], symbols = strings["p"], then_values = dims[n]} () {
    %4: tensor<f32,[n]> = neg(%0)
    %5: sequence<tensor<f32,[?]>> = sequence.construct(%4)
    yield %4, %5
  } () {
    %6: tensor<f32,[n*2]> = concat(%0, %0) {axis = 0}
    %7: sequence<> = sequence.construct()
    yield %6, %7
  }
  %8: tensor<f32,[p]> = neg(%2)
  output "y" = %8
}
)TEXT";

// Doubles x, `trip` times, while the sum of what is carried as `a` is below 100; collects each x.
constexpr std::string_view kLoop = R"TEXT(symbol a: [-inf, inf]
symbol b: [-inf, inf]
symbol i: [0, inf]
symbol m: [-inf, inf]
symbol n: [0, inf] input
symbol steps: [0, inf]
func @main {
  input "x" = %0: tensor<i64,[n]>
  input "trip" = %1: tensor<i64,[1]>
  define_dims(%1) {symbols = strings["m"]}
  %2: tensor<i64,[n]>, %3: tensor<i64,[steps,n]> = loop(%0) {continue = dim(lt(a, 100)), count = "steps", finals = strings["b"], index = "i", initial = dims[1], next = dims[a+i+1], start = dim(1), symbols = strings["a"], trip = dim(m)} (%4: tensor<i64,[n]>) {
    %5: tensor<i64,[n]> = add(%4, %4)
    yield %5, %4
  }
  %6: tensor<i64,[2]> of [b, steps] = dims_tensor() {dims = dims[2], dtype = i64, elements = dims[b, steps]}
  output "last" = %2
  output "all" = %3
  output "numbers" = %6
}
)TEXT";

std::string Normal(std::string_view text) {
  auto module = ParseModule(text);
  return module ? PrintModule(*module) : module.error().message;
}

TEST(ControlTest, RoundTrips) {
  for (std::string_view text : {kIf, kLoop}) {
    std::string once = Normal(text);
    EXPECT_THAT(once, HasSubstr("func @main"));
    EXPECT_EQ(Normal(once), once);
  }
  EXPECT_THAT(Normal(kIf), HasSubstr("if() {condition = dim(c), else_values = dims[n*2], symbols = "
                                     "strings[\"p\"], then_values = dims[n]} () {\n"));
  EXPECT_THAT(Normal(kIf), HasSubstr("sequence<> = sequence.construct()"));
  EXPECT_THAT(Normal(kLoop), HasSubstr("next = dims[a+i+1]"));
}

// ---- the verifier ----

// The error for a text in which a part is replaced.
std::string Broken(std::string_view text, std::string_view part, std::string_view by) {
  std::string changed(text);
  size_t at = changed.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  if (at == std::string::npos) return "";
  changed.replace(at, part.size(), by);
  auto module = ParseModule(changed);
  return module ? "none" : module.error().message;
}

TEST(ControlTest, AttributesOfAnIf) {
  EXPECT_EQ(Broken(kIf, "condition = dim(c), ", ""),
            "@main: if: the attribute condition is missing or of another kind");
  EXPECT_EQ(Broken(kIf, "condition = dim(c)", "condition = 1"),
            "@main: if: the attribute condition is missing or of another kind");
  EXPECT_EQ(Broken(kIf, "condition = dim(c)", "condition = dim(q)"),
            "@main: if: the symbol q is not defined here");
  EXPECT_EQ(Broken(kIf, "then_values = dims[n]", "then_values = dims[n, n]"),
            "@main: if: 1 symbols with 2 then_values and 1 else_values");
  EXPECT_EQ(Broken(kIf, "else_values = dims[n*2]", "else_values = dims[]"),
            "@main: if: 1 symbols with 1 then_values and 0 else_values");
  EXPECT_EQ(Broken(kIf, "then_values = dims[n]", "then_values = dims[p]"),
            "@main: if: the symbol p is not defined here");
  EXPECT_EQ(Broken(kIf, "symbols = strings[\"p\"]", "symbols = strings[\"n\"]"),
            "@main: if: the symbol n is defined twice");
  EXPECT_EQ(Broken(kIf, "symbol p: [0, inf]\n", ""), "@main: if: the module does not list the symbol p");
}

TEST(ControlTest, RegionsOfAnIf) {
  EXPECT_EQ(Broken(kIf,
                   " () {\n    %6: tensor<f32,[n*2]> = concat(%0, %0) {axis = 0}\n    %7: sequence<> = "
                   "sequence.construct()\n    yield %6, %7\n  }",
                   ""),
            "@main: if: 1 regions, wanted 2");
  EXPECT_EQ(Broken(kIf, "} () {\n    %4", "} (%9: tensor<f32,[n]>) {\n    %4"),
            "@main: if: a branch does not fit the results");
  EXPECT_EQ(Broken(kIf, "yield %6, %7", "yield %6"), "@main: if: a branch does not fit the results");
  EXPECT_EQ(Broken(kIf, "yield %6, %7", "yield %1, %7"),
            "@main: if: tensor<i64,[1]> where tensor<f32,[p]> is wanted");
  EXPECT_EQ(Broken(kIf, "yield %6, %7", "yield %7, %7"),
            "@main: if: sequence<> where tensor<f32,[p]> is wanted");
  EXPECT_EQ(Broken(kIf, "%6: tensor<f32,[n*2]> = concat(%0, %0) {axis = 0}",
                   "%6: tensor<f32,[n,1]> = reshape(%0) {dims = dims[n, 1]}"),
            "@main: if: tensor<f32,[n,1]> where tensor<f32,[p]> is wanted");
  // What a branch defines means nothing behind it.
  EXPECT_EQ(Broken(kIf, "neg(%2)", "neg(%6)"), "@main: neg: input 0, %6, is not defined here");
}

TEST(ControlTest, ElementTypesHoldNumbersAndQuestionMarks) {
  EXPECT_EQ(Broken(kIf, "%5: sequence<tensor<f32,[?]>>", "%5: sequence<tensor<f32,[n]>>"),
            "@main: if: sequence.construct: the dim n in an element type, only numbers and ? may be there");
  EXPECT_EQ(Broken(kIf, "%5: sequence<tensor<f32,[?]>>", "%5: sequence<optional<tensor<f32,[n]>>>"),
            "@main: if: sequence.construct: the dim n in an element type, only numbers and ? may be there");
  EXPECT_EQ(Broken(kIf, "%5: sequence<tensor<f32,[?]>>", "%5: sequence<tensor<f32,[3]>>"), "none");
  EXPECT_THAT(Broken(kIf, "%4: tensor<f32,[n]>", "%4: tensor<f32,[?]>"), HasSubstr("its rule gives"));
}

TEST(ControlTest, AttributesOfALoop) {
  auto missing = [](const std::string& name) {
    return "@main: loop: the attribute " + name + " is missing or of another kind";
  };
  EXPECT_EQ(Broken(kLoop, ", trip = dim(m)", ""), missing("trip"));
  EXPECT_EQ(Broken(kLoop, "start = dim(1), ", ""), missing("start"));
  EXPECT_EQ(Broken(kLoop, "continue = dim(lt(a, 100)), ", ""), missing("continue"));
  EXPECT_EQ(Broken(kLoop, "index = \"i\", ", ""), missing("index"));
  EXPECT_EQ(Broken(kLoop, "count = \"steps\", ", ""), missing("count"));
  EXPECT_EQ(Broken(kLoop, "finals = strings[\"b\"]", "finals = strings[]"),
            "@main: loop: the finals do not fit the symbols");
  EXPECT_EQ(Broken(kLoop, "initial = dims[1]", "initial = dims[1, 2]"),
            "@main: loop: 1 symbols with 2 initial and 1 next");
  EXPECT_EQ(Broken(kLoop, "next = dims[a+i+1]", "next = dims[]"),
            "@main: loop: 1 symbols with 1 initial and 0 next");
}

TEST(ControlTest, SymbolsOfALoopAreScoped) {
  for (const char* outside : {"a", "i"}) {
    std::string is_not_defined = std::string("@main: loop: the symbol ") + outside + " is not defined here";
    EXPECT_EQ(Broken(kLoop, "trip = dim(m)", "trip = dim(" + std::string(outside) + ")"), is_not_defined);
    EXPECT_EQ(Broken(kLoop, "initial = dims[1]", "initial = dims[" + std::string(outside) + "]"),
              is_not_defined);
    EXPECT_EQ(Broken(kLoop, "of [b, steps]", "of [b, " + std::string(outside) + "]"),
              "@main: dims_tensor: the symbol " + std::string(outside) + " is not defined here");
  }
  for (const char* inside : {"b", "steps"})
    EXPECT_EQ(Broken(kLoop, "next = dims[a+i+1]", "next = dims[" + std::string(inside) + "]"),
              "@main: loop: the symbol " + std::string(inside) + " is not defined here");
  EXPECT_EQ(Broken(kLoop, "symbols = strings[\"a\"]", "symbols = strings[\"n\"]"),
            "@main: loop: the symbol n is defined twice");
  EXPECT_EQ(Broken(kLoop, "symbol i: [0, inf]\n", ""), "@main: loop: the module does not list the symbol i");
  EXPECT_EQ(Broken(kLoop, "symbol b: [-inf, inf]\n", ""),
            "@main: loop: the module does not list the symbol b");
  EXPECT_EQ(Broken(kLoop, "symbol steps: [0, inf]\n", ""),
            "@main: loop: the module does not list the symbol steps");
  EXPECT_EQ(Broken(kLoop, "symbol i: [0, inf]\n", "symbol i: [0, inf] input\n"),
            "@main: loop: the symbol i is listed as an input's");
  EXPECT_EQ(Broken(kLoop, "symbol steps", "symbol other: [0, inf] input\nsymbol steps"),
            "the symbol other is listed as an input's, but no input has it");
}

TEST(ControlTest, InputsTellWhichSymbolsAreTheirs) {
  std::string text(kLoop);
  text.replace(text.find(" input\n"), 6, "");
  Module module = *ParseModule(text);
  EXPECT_EQ(PrintModule(module), kLoop);
  module.symbols.at(SymbolId("n")).scope = SymbolScope::kNode;
  EXPECT_EQ(VerifyModule(module).error().message, "@main: the symbol n is not listed as an input's");
}

TEST(ControlTest, AttributesThatNameSymbolsHoldSymbols) {
  Module module = *ParseModule(kLoop);
  for (Node& node : module.main().nodes)
    if (IsLoop(node)) node.attributes["symbols"] = std::vector<std::string>{"a"};
  EXPECT_EQ(VerifyModule(module).error().message, "@main: loop: the attribute symbols is of another kind");
}

// Sizes that turned out constant may contradict what led to the other branch.
TEST(ControlTest, OnlyBranchesThatMayRunHaveToFit) {
  const auto with = [](std::string_view condition) {
    std::string text(kIf);
    text.replace(text.find("condition = dim(c)"), 18, condition);
    Module module = *ParseModule(text);
    for (Node& node : module.main().nodes)
      if (node.op->name == "neg") {
        module.main().value(node.outputs[0]).type.dims = {Dim(3)};  // of the first branch
        break;
      }
    return VerifyModule(module);
  };
  EXPECT_FALSE(with("condition = dim(c)"));
  EXPECT_FALSE(with("condition = dim(1)"));
  const Status untaken = with("condition = dim(0)");
  EXPECT_TRUE(untaken) << untaken.error().message;
}

TEST(ControlTest, RegionsOfALoop) {
  EXPECT_EQ(Broken(kLoop, "    yield %5, %4\n  }", "    yield %5, %4\n  } () {\n yield\n }"),
            "@main: loop: 2 regions, wanted 1");
  EXPECT_EQ(Broken(kLoop, "(%4: tensor<i64,[n]>)", "(%4: tensor<i64,[n]>, %7: tensor<i64,[n]>)"),
            "@main: loop: 1 initial values, 2 parameters and 2 results of the region, 2 results");
  EXPECT_EQ(Broken(kLoop, "yield %5, %4", "yield %5"),
            "@main: loop: 1 initial values, 1 parameters and 1 results of the region, 2 results");
  EXPECT_EQ(Broken(kLoop, "loop(%0)", "loop(%0, %0)"),
            "@main: loop: 2 initial values, 1 parameters and 2 results of the region, 2 results");
}

TEST(ControlTest, TypesOfALoop) {
  // Of the initial, the next and the last value of what is carried.
  EXPECT_EQ(Broken(kLoop, "(%4: tensor<i64,[n]>) {\n    %5: tensor<i64,[n]> = add(%4, %4)",
                   "(%4: tensor<i32,[n]>) {\n    %5: tensor<i32,[n]> = add(%4, %4)"),
            "@main: loop: tensor<i64,[n]> where tensor<i32,[n]> is wanted");
  EXPECT_EQ(Broken(kLoop, "%5: tensor<i64,[n]> = add(%4, %4)",
                   "%5: tensor<i64,[n,1]> = reshape(%4) {dims = dims[n, 1]}"),
            "@main: loop: tensor<i64,[n,1]> where tensor<i64,[n]> is wanted");
  EXPECT_EQ(Broken(kLoop, "%2: tensor<i64,[n]>", "%2: sequence<tensor<i64,[?]>>"),
            "@main: loop: tensor<i64,[n]> where sequence<tensor<i64,[?]>> is wanted");
  // Of what is collected.
  EXPECT_EQ(Broken(kLoop, "%3: tensor<i64,[steps,n]>", "%3: tensor<i64,[steps]>"),
            "@main: loop: tensor<i64,[n]> collected as tensor<i64,[steps]>");
  EXPECT_EQ(Broken(kLoop, "%3: tensor<i64,[steps,n]>", "%3: tensor<f32,[steps,n]>"),
            "@main: loop: tensor<i64,[n]> collected as tensor<f32,[steps,n]>");
  EXPECT_EQ(Broken(kLoop, "%3: tensor<i64,[steps,n]>", "%3: sequence<tensor<i64,[?]>>"),
            "@main: loop: tensor<i64,[n]> collected as sequence<tensor<i64,[?]>>");
  EXPECT_EQ(
      Broken(kLoop, "yield %5, %4", "%7: sequence<tensor<i64,[?]>> = sequence.construct(%4)\n yield %5, %7"),
      "@main: loop: sequence<tensor<i64,[?]>> collected as tensor<i64,[steps,n]>");
}

// ---- what they compute ----

struct Result {
  std::vector<int64_t> dims;
  std::vector<int64_t> values;
};

std::vector<Result> Evaluate(std::string_view text, const std::vector<std::vector<int64_t>>& inputs) {
  auto module = ParseModule(text);
  EXPECT_TRUE(module) << module.error().message;
  if (!module) return {};
  std::vector<TensorData> data;
  for (const std::vector<int64_t>& input : inputs)
    data.push_back(TensorData::FromVector(DType::kI64, {static_cast<int64_t>(input.size())}, input));
  auto outputs = EvaluateFunction(module->main(), data);
  EXPECT_TRUE(outputs) << outputs.error().message;
  std::vector<Result> results;
  for (const TensorData& output : outputs ? *outputs : std::vector<TensorData>()) {
    Result& result = results.emplace_back(Result{output.dims, {}});
    result.values.resize(static_cast<size_t>(output.element_count()));
    std::ranges::copy(output.bytes, reinterpret_cast<std::byte*>(result.values.data()));
  }
  return results;
}

TEST(ControlTest, ALoopCarriesCollectsAndCounts) {
  std::vector<Result> results = Evaluate(kLoop, {{1, 3}, {3}});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(results[0].values, ElementsAre(8, 24));
  EXPECT_THAT(results[1].dims, ElementsAre(3, 2));
  EXPECT_THAT(results[1].values, ElementsAre(1, 3, 2, 6, 4, 12));
  EXPECT_THAT(results[2].values, ElementsAre(1 + 1 + 2 + 3, 3));
}

// `continue` sees the symbols of the step that ends: a is 92 in step 13 and 106 in step 14.
TEST(ControlTest, ALoopEndsWhenItsConditionDoes) {
  std::vector<Result> results = Evaluate(kLoop, {{1}, {1000}});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(results[2].values, ElementsAre(121, 15));
  EXPECT_THAT(results[0].values, ElementsAre(1 << 15));
}

TEST(ControlTest, ALoopWithoutSteps) {
  std::string never(kLoop);
  never.replace(never.find("start = dim(1)"), 14, "start = dim(0)");
  for (const auto& results :
       {Evaluate(kLoop, {{5}, {0}}), Evaluate(kLoop, {{5}, {-4}}), Evaluate(never, {{5}, {9}})}) {
    ASSERT_EQ(results.size(), 3u);
    EXPECT_THAT(results[0].values, ElementsAre(5));
    EXPECT_THAT(results[1].dims, ElementsAre(0, 1));
    EXPECT_THAT(results[2].values, ElementsAre(1, 0));
  }
}

// The inner loop runs as often as the outer one's index says; its sum is carried by the outer one.
TEST(ControlTest, LoopsNest) {
  constexpr std::string_view kNested = R"TEXT(symbol f: [-inf, inf]
symbol g: [-inf, inf]
symbol i: [0, inf]
symbol j: [0, inf]
symbol m: [-inf, inf]
symbol s: [-inf, inf]
symbol t: [-inf, inf]
func @main {
  input "trip" = %0: tensor<i64,[1]>
  define_dims(%0) {symbols = strings["m"]}
  loop() {continue = dim(1), count = "", finals = strings["f"], index = "i", initial = dims[0], next = dims[g], start = dim(1), symbols = strings["s"], trip = dim(m)} () {
    loop() {continue = dim(1), count = "", finals = strings["g"], index = "j", initial = dims[s], next = dims[t+i*10+j], start = dim(1), symbols = strings["t"], trip = dim(i)} () {
      yield
    }
    yield
  }
  %1: tensor<i64,[1]> of [f] = dims_tensor() {dims = dims[1], dtype = i64, elements = dims[f]}
  output "sum" = %1
}
)TEXT";
  // i = 1: 10; i = 2: 20 + 21; i = 3: 30 + 31 + 32
  std::vector<Result> results = Evaluate(kNested, {{4}});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0].values, ElementsAre(10 + 41 + 93));
}

// Carried numbers change all at once: the next of one sees the old other.
TEST(ControlTest, CarriedNumbersSwap) {
  constexpr std::string_view kSwap = R"TEXT(symbol a: [-inf, inf]
symbol b: [-inf, inf]
symbol c: [-inf, inf]
symbol d: [-inf, inf]
symbol i: [0, inf]
symbol m: [-inf, inf]
func @main {
  input "trip" = %0: tensor<i64,[1]>
  define_dims(%0) {symbols = strings["m"]}
  loop() {continue = dim(1), count = "", finals = strings["c", "d"], index = "i", initial = dims[1, 2], next = dims[b, a], start = dim(1), symbols = strings["a", "b"], trip = dim(m)} () {
    yield
  }
  %1: tensor<i64,[2]> of [c, d] = dims_tensor() {dims = dims[2], dtype = i64, elements = dims[c, d]}
  output "y" = %1
}
)TEXT";
  EXPECT_THAT(Evaluate(kSwap, {{3}})[0].values, ElementsAre(2, 1));
  EXPECT_THAT(Evaluate(kSwap, {{4}})[0].values, ElementsAre(1, 2));
}

TEST(ControlTest, AnIfTakesOneBranch) {
  constexpr std::string_view kChoice = R"TEXT(symbol c: [-inf, inf]
symbol n: [0, inf] input
symbol p: [0, inf]
func @main {
  input "x" = %0: tensor<i64,[n]>
  input "flag" = %1: tensor<i64,[1]>
  define_dims(%1) {symbols = strings["c"]}
  %2: tensor<i64,[p]> = if() {condition = dim(c), else_values = dims[n*2], symbols = strings["p"], then_values = dims[n]} () {
    %3: tensor<i64,[n]> = neg(%0)
    yield %3
  } () {
    %4: tensor<i64,[n*2]> = concat(%0, %0) {axis = 0}
    yield %4
  }
  %5: tensor<i64,[p]> = neg(%2)
  output "y" = %5
}
)TEXT";
  EXPECT_THAT(Evaluate(kChoice, {{1, 2}, {7}})[0].values, ElementsAre(1, 2));
  EXPECT_THAT(Evaluate(kChoice, {{1, 2}, {0}})[0].values, ElementsAre(-1, -2, -1, -2));
}

}  // namespace
}  // namespace tvmvm::ir
