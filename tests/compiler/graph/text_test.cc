// Printer, parser and verifier: text -> module -> the same text; every rule of the verifier has a text that
// breaks it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/core_op.h"
#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"

namespace tvmvm::ir {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kEverything = R"TEXT(symbol 'batch size': [1, 512] input
symbol n: [0, inf] input
symbol s0: [-inf, inf]
func @main {
  input "x" = %0 "x": tensor<f32,['batch size',n,4]>
  input "shape" = %1: tensor<i64,[1]>
  input "names" = %2: sequence<tensor<string,[?,2]>>
  input "more" = %3: tuple<optional<tensor<f16>>,tensor<bool,[]>>
  define_dims(%1) {symbols = strings["s0"]}
  %4 "w": tensor<f32,[2,2]> = constant() {data = dense<f32,[2,2]>[1, -0.5, inf, nan]} from "w (Initializer)"
  %5: tensor<i64,[2]> of [n, 4] = dims_tensor() {dims = dims[2], dtype = i64, elements = dims[n, 4]}
  %6: tensor<u4,[3]> = constant() {data = dense<u4,[3]>[1, 15, 7]}
  %7: tensor<u64,[1]> = constant() {data = dense<u64,[1]>[18446744073709551615]}
  %8: tensor<string,[2]> = constant() {data = dense<string,[2]>["a\x0ab", "\"\\"]}
  %9: tensor<f32,['batch size',n,4]> = pad(%0, _) {any = float(0.1), high = dims[0, 0, 0], low = dims[0, 0, 0], list = floats[1, 1e+300], mode = "constant", one = dim(n*4+1)} from "Pad \xc3\xa9"
  %10: tensor<f32,['batch size',n,4]> = fused(%9, %0) (%11: tensor<f32,['batch size',n,4]>, %12: tensor<f32,['batch size',n,4]>) {
    %13: tensor<f32,['batch size',n,4]> = add(%11, %12)
    yield %13
  }
  %14: tensor<f32,[4,'batch size',n]> = transpose(%10) {perm = [2, 0, 1]}
  output "y" = %14
}
)TEXT";

// Attributes are kept in the order of their names.
std::string Normal(std::string_view text) {
  auto module = ParseModule(text);
  return module ? PrintModule(*module) : module.error().message;
}

TEST(TextTest, EverythingRoundTrips) {
  std::string once = Normal(kEverything);
  EXPECT_EQ(Normal(once), once);
  for (std::string_view part :
       {"symbol 'batch size': [1, 512] input\n", "symbol s0: [-inf, inf]\n",
        "%2: sequence<tensor<string,[?,2]>>", "%3: tuple<optional<tensor<f16>>,tensor<bool,[]>>",
        "dense<f32,[2,2]>[1, -0.5, inf, nan]", "of [n, 4]", "dense<u4,[3]>[1, 15, 7]",
        "[18446744073709551615]", R"(["a\x0ab", "\"\\"])", "pad(%0, _) {any = float(0.1), high",
        "one = dim(n*4+1)", R"(from "Pad \xc3\xa9")", "    yield %13\n  }\n", "perm = [2, 0, 1]"})
    EXPECT_THAT(once, ::testing::HasSubstr(std::string(part)));
}

constexpr std::string_view kTwoDims = R"(symbol n: [0, 100]
symbol m: [1, inf]
func @main {
  input "x" = %0: tensor<f32,[n,m]>
  %1: tensor<f32,[n*m]> = reshape(%0) {dims = dims[n*m]}
  output "y" = %1
}
)";

TEST(TextTest, WhatIsKnownOfDimsNarrowsThem) {
  auto module = ParseModule(kTwoDims, {{"n", {4, 200}}, {"m", {3, 3}}});
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(PrintModule(*module), R"(symbol n: [4, 100] input
func @main {
  input "x" = %0: tensor<f32,[n,3]>
  %1: tensor<f32,[n*3]> = reshape(%0) {dims = dims[n*3]}
  output "y" = %1
}
)");
}

TEST(TextTest, WhatIsKnownOfDimsHasToFit) {
  auto error = [](std::string_view text, const DimFacts& facts) {
    auto module = ParseModule(text, facts);
    return module ? "no error" : module.error().message;
  };
  EXPECT_EQ(error(kTwoDims, {{"k", {1, 1}}}), "no input has a dimension 'k'; there is 'm', 'n'");
  EXPECT_EQ(error(kTwoDims, {{"n", {101, 200}}}), "dimension 'n' is from 0 to 100, not from 101 to 200");
  EXPECT_EQ(
      error(std::string(kTwoDims) + "func @f {\n input \"x\" = %0: tensor<f32,[n]>\n output \"y\" = %0\n}",
            {{"n", {4, 4}}}),
      "'n' is a dimension of @f, too, where it may be another number");
}

// Large expressions are written once, under names that follow from them.
TEST(TextTest, NamedDimsRoundTrip) {
  std::string large = "n";
  for (int i = 2; i < 50; ++i) large += "+floordiv(n, " + std::to_string(i) + ")";
  std::string larger = "big*big";
  for (int i = 2; i < 50; ++i) larger += "+floordiv(big, " + std::to_string(i) + ")";
  const std::string text = "symbol n: [0, 512] input\nlet big: [0, 2048] = " + large +
                           "\nlet 'bigger one': [0, inf] = " + larger + R"(
func @main {
  input "x" = %0: tensor<f32,[n]>
  %1: tensor<i64,[2]> of [big, 'bigger one'*2] = dims_tensor() {dims = dims[2], dtype = i64, elements = dims[big, 'bigger one'*2]}
  output "y" = %1
}
)";
  const std::string once = Normal(text);
  EXPECT_EQ(Normal(once), once);
  EXPECT_THAT(once, HasSubstr("let e."));
  EXPECT_THAT(once, HasSubstr(": [0, 2048] = n+"));
  EXPECT_LT(once.size(), 2 * text.size());
  EXPECT_THAT(Normal("let big [0, 1] = n\n"), HasSubstr("wanted"));
}

// What passes decide stands among the attributes; each where it has a meaning.
TEST(TextTest, DecisionsAndLayoutsRoundTrip) {
  const std::string scatter = R"(func @main {
  input "x" = %0: tensor<f32,[4,2]>
  input "i" = %1: tensor<i64,[1,1]>
  input "u" = %2: tensor<f32,[1,2]>
  %3: tensor<f32,[4,2]> = scatter_nd(%0, %1, %2) {in_place = 1, reduction = "none"}
  output "y" = %3
}
)";
  EXPECT_EQ(Normal(scatter), scatter);
  EXPECT_THAT(Normal(R"(func @main {
  input "x" = %0: tensor<f32,[4,2]>
  %1: tensor<f32,[4,2]> = neg(%0) {in_place = 1}
  output "y" = %1
}
)"),
              HasSubstr("'in_place' is not decided of neg"));
  auto loop = [](const std::string& decided) {
    return R"(symbol i: [0, inf]
func @main {
  input "x" = %0: tensor<f32,[3]>
  %1: tensor<f32,[3]> = loop(%0) {continue = dim(1), count = "", )" +
           decided +
           R"(finals = strings[], index = "i", initial = dims[], next = dims[], outline = 1, poll = 10, )"
           R"(polls = 1, start = dim(1), symbols = strings[], trip = dim(3)} (%2: tensor<f32,[3]>) {
    %3: tensor<f32,[3]> = neg(%2)
    yield %3
  }
  output "y" = %1
}
)";
  };
  EXPECT_EQ(Normal(loop("expected_steps = 7, ")), loop("expected_steps = 7, "));
  EXPECT_THAT(Normal(loop("expected_steps = -7, ")), HasSubstr("'expected_steps' is -7"));
  auto convolution = [](const std::string& layout) {
    return R"(func @main {
  input "x" = %0: tensor<f32,[1,5,5,2]>
  input "w" = %1: tensor<f32,[3,2,1,1]>
  %2: tensor<f32,[1,5,5,3]> = conv(%0, %1) {dilations = [1, 1], high = dims[0, 0], layout = )" +
           layout + R"(, low = dims[0, 0], strides = [1, 1]}
  output "y" = %2
}
)";
  };
  EXPECT_EQ(Normal(convolution("channels_last")), convolution("channels_last"));
  EXPECT_THAT(Normal(convolution("\"channels_last\"")), HasSubstr("'layout' is no layout"));
}

TEST(TextTest, BigConstantsAreDigests) {
  Module module;
  Function& f = module.functions.emplace_back();
  f.name = "main";
  f.body = f.AddRegion();
  Node node;
  node.op = &GetCoreOp("constant");
  node.outputs = {f.AddValue(Type::Tensor(DType::kF32, {100}))};
  node.attributes["data"] =
      std::make_shared<const TensorData>(TensorData::FromVector(DType::kF32, {100}, std::vector<float>(100)));
  f.region(f.body).nodes.push_back(f.AddNode(std::move(node)));
  std::string text = PrintModule(module);
  EXPECT_THAT(text, ::testing::ContainsRegex("dense<f32,.100.>#[0-9a-f]{16}}"));
  EXPECT_THAT(Normal(text), ::testing::HasSubstr("a digest cannot be read back"));
}

std::string ErrorOf(std::string body) {
  auto module = ParseModule(
      "symbol n: [0, inf] input\nfunc @main {\n  input \"x\" = %0: tensor<f32,[n,4]>\n" + body + "\n}\n");
  return module ? "none" : module.error().message;
}

TEST(TextTest, ErrorsSayWhere) {
  EXPECT_EQ(Normal("what"), "line 1, column 1: found 'w', wanted 'symbol', 'let', 'type' or 'func'");
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[n,4]> = nothing(%0)"),
            "line 4, column 32: found '(', wanted an operator in place of 'nothing'");
  EXPECT_EQ(ErrorOf("%1: tensor<f33,[n,4]> = neg(%0)"),
            "line 4, column 15: found ',', wanted an element type in place of 'f33'");
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[n,*]> = neg(%0)"),
            "line 4, column 19: found '*', wanted dim '*': at 0: found '*', wanted a number, symbol or '('");
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[n,4]> = neg(%7)"),
            "line 4, column 31: found ')', wanted %7 to be defined before its use");
  EXPECT_EQ(ErrorOf("%0: tensor<f32,[n,4]> = neg(%0)"),
            "line 4, column 23: found '=', wanted %0 to be defined once");
  EXPECT_EQ(ErrorOf("output \"y = %0"), "line 4, column 15: found '\n', wanted a closing quote");
  EXPECT_NE(ErrorOf("%1: tensor<f32,[n,4]> = constant() {data = dense<f32,[1000000000,1000000000]>[1]}"),
            "none");
}

TEST(TextTest, TheVerifierRefuses) {
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[n,5]> = neg(%0)"),
            "@main: neg: result 0 is tensor<f32,[n,5]>, its rule gives tensor<f32,[n,4]>");
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[n,4]> = neg(%0, %0)"), "@main: neg: 2 inputs");
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[n,4]> = add(%0, _)"), "@main: add: input 1 is out of range");
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[m,4]> = expand(%0) {dims = dims[m, 4]}"),
            "@main: expand: the symbol m is not defined here");
  EXPECT_EQ(
      ErrorOf("%1: tensor<f32,[4,n]> = transpose(%0) {perm = [1]} from \"T\""),
      "@main: transpose (node T): perm of 1 entries is no permutation of the 2 axes of tensor<f32,[n,4]>");
  EXPECT_EQ(
      ErrorOf(
          "%1: tensor<i64,[2]> of [n] = dims_tensor() {dims = dims[2], dtype = i64, elements = dims[n, 4]}"),
      "@main: dims_tensor: 1 known elements for tensor<i64,[2]>");
  EXPECT_EQ(
      ErrorOf("%1: tensor<f32,[n,4]> = neg(%0)\n%2: tensor<f32,[n,4]>, %3: tensor<f32,[n,4]> = neg(%0)"),
      "@main: neg: 2 results, its rule gives 1");
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[n,4]> = fused(%0) (%2: tensor<f32,[4,n]>) {\n yield %0\n}"),
            "@main: fused: the inputs do not fit the region's parameters");
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[n,4]> = fused(%0)"), "@main: fused: 0 regions, wanted 1");
  EXPECT_EQ(ErrorOf("%1: tensor<i64,[1]> = dims_tensor() {dims = dims[1], dtype = i64, elements = dims[n]}\n"
                    "define_dims(%1) {symbols = strings[\"n\"]}"),
            "@main: define_dims: the symbol n is defined twice");
}

// A value of an inner region means nothing outside of it.
TEST(TextTest, AModuleHasAFunction) {
  for (const char* text : {"", "// nothing\n"}) {
    auto module = ParseModule(text);
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().code, Code::kInvalidArgument);
    EXPECT_EQ(module.error().message, "there is no function");
  }
}

TEST(TextTest, RegionsAreScopes) {
  EXPECT_EQ(ErrorOf("%1: tensor<f32,[n,4]> = fused(%0) (%2: tensor<f32,[n,4]>) {\n %3: tensor<f32,[n,4]> = "
                    "neg(%2)\n yield %3\n}\n output \"y\" = %3"),
            "@main: a result of the region, %3, is not defined here");
}

TEST(TextTest, IdsAreChecked) {
  Module module = *ParseModule(
      "symbol n: [0, inf] input\nfunc @main {\n input \"x\" = %0: tensor<f32,[n]>\n %1: tensor<f32,[n]> = "
      "neg(%0)\n output \"y\" = %1\n}");
  Function& f = module.main();
  Region& body = f.region(f.body);
  body.results[0].index = 99;
  EXPECT_EQ(VerifyModule(module).error().message, "@main: a result of the region is out of range");
  body.results[0].index = 1;
  body.nodes.push_back(body.nodes[0]);
  EXPECT_EQ(VerifyModule(module).error().message, "@main: neg is in two places");
  body.nodes[1].index = 99;
  EXPECT_EQ(VerifyModule(module).error().message, "@main: a node is out of range");
  body.nodes.pop_back();
  f.value(ValueId{1}).producer = NodeId{};
  EXPECT_EQ(VerifyModule(module).error().message, "@main: neg: %1 names another producer");
}

std::string ErrorOfTypes(const std::string& declarations, const std::string& body = "") {
  auto module = ParseModule(declarations + "\nfunc @main {\n input \"t\" = %0: Tree\n" + body +
                            " output \"y\" = %0\n}");
  return module ? "" : module.error().message;
}

TEST(TextTest, DataTypesAreChecked) {
  const std::string tree = "type Tree = Leaf(tensor<f32,[]>) | Node(Tree, Tree)";
  const std::string scalar = "%1: tensor<f32,[]> = constant() {data = dense<f32,[]>[1]}\n";
  auto expect = [&](const std::string& declarations, const std::string& body, const std::string& message) {
    EXPECT_THAT(ErrorOfTypes(declarations, body), testing::HasSubstr(message)) << declarations << "\n"
                                                                               << body;
  };
  EXPECT_EQ(ErrorOfTypes(tree), "");
  EXPECT_EQ(ErrorOfTypes(tree, scalar + "%2: Tree = Leaf(%1)\n%3: Tree = Node(%2, %0)\n"), "");
  expect("", "", "a type in place of 'Tree'");
  expect("type Tree = Leaf(Thing)", "", "a declaration of the type 'Thing' of a field of Leaf");
  expect("type Tree = Leaf() | Leaf()", "", "a new constructor's name in place of 'Leaf'");
  expect("type Tree = add()", "", "a new constructor's name in place of 'add'");
  expect(tree + "\ntype Tree = Other()", "", "a new type's name");
  expect(tree, scalar + "%2: Tree = Node(%1, %0)\n", "field 0 of Node as declared");
  expect(tree, scalar + "%2: Tree = Leaf(%1, %1)\n", "1 fields of Leaf in place of 2");
  expect(tree, scalar + "%2: tuple<> = Leaf(%1)\n", "a result of type Tree for Leaf");
  expect(tree, scalar + "%2: tensor<f32,[]> = match(%1) Leaf(%3) {\n yield %3\n}\n",
         "a value of a declared type");
  expect(tree, "%2: Tree = match(%0) Leaf(%3) {\n yield %0\n}\n", "each constructor of Tree once");
  expect(tree, "%2: Tree = match(%0) Leaf(%3) {\n yield %0\n} Leaf(%4) {\n yield %0\n}\n",
         "each constructor of Tree once");
  expect(tree, "%2: Tree = match(%0) Leaf() {\n yield %0\n}\n", "wanted '%'");
  // Both arms give what the match gives.
  expect(tree, "%1: Tree = match(%0) Leaf(%2) {\n yield %2\n} Node(%3, %4) {\n yield %3\n}\n", "if");
}

}  // namespace
}  // namespace tvmvm::ir
