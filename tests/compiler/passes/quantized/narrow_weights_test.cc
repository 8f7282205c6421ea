// Which weights products read as codes or halves, and which are left to folding.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/graph/core_op.h"
#include "compiler/graph/parser.h"
#include "compiler/graph/verifier.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

constexpr int64_t kRows = 128;

std::string Constant(int value, const std::string& type, int64_t count) {
  std::string numbers = "1";
  for (int64_t i = 1; i < count; ++i) numbers += fmt::format(", {}", i % 7);
  return fmt::format("  %{0}: tensor<{1}> = constant() {{data = dense<{1}>[{2}]}}\n", value, type, numbers);
}

// x [n, 128] by the value that `weights` ends with, [columns, 128].
std::string Product(const std::string& weights, int value, int64_t columns) {
  return "symbol n: [0, inf] input\nfunc @main {\n  input \"x\" = %0: tensor<f32,[n,128]>\n" + weights +
         fmt::format(
             "  %{}: tensor<f32,[n,{}]> = contract(%0, %{}) {{lhs_batch = [], lhs_contract = [1], "
             "rhs_batch = [], rhs_contract = [1]}}\n  output \"y\" = %{}\n}}\n",
             value + 1, columns, value, value + 1);
}

// "OPERATOR:TYPE" of what makes the right operand after the pass.
std::string RightOperand(const std::string& text) {
  Expected<ir::Module> module = ir::ParseModule(text);
  EXPECT_TRUE(module) << module.error().message;
  if (!module) return {};
  EXPECT_TRUE(NarrowWeights(*module, {}));
  Status status = ir::VerifyModule(*module);
  EXPECT_TRUE(status) << status.error().message;
  const ir::Function& function = module->main();
  for (ir::NodeId id : function.region(function.body).nodes) {
    const ir::Node& node = function.node(id);
    if (node.op->kind != ir::OpKind::kContraction) continue;
    const ir::ValueId right = node.inputs[1];
    return fmt::format("{}:{}", function.node(function.value(right).producer).op->name,
                       function.type(right).ToString());
  }
  return {};
}

std::string Dequantized(int64_t columns, const std::string& scale_dims, int64_t scales) {
  return Product(Constant(1, fmt::format("u8,[{},128]", columns), columns * 128) + Constant(2, "i32,[]", 1) +
                     Constant(3, "f32," + scale_dims, scales) +
                     fmt::format("  %4: tensor<i32,[{0},128]> = cast(%1) {{to = i32}}\n"
                                 "  %5: tensor<i32,[{0},128]> = sub(%4, %2)\n"
                                 "  %6: tensor<f32,[{0},128]> = cast(%5) {{to = f32}}\n"
                                 "  %7: tensor<f32,[{0},128]> = mul(%6, %3)\n",
                                 columns),
                 7, columns);
}

TEST(NarrowWeights, DequantizedConstantsStayCodes) {
  EXPECT_EQ(RightOperand(Dequantized(kRows, "[128,1]", 128)), "dequantize:tensor<f32,[128,128]>");
  EXPECT_EQ(RightOperand(Dequantized(kRows, "[]", 1)), "dequantize:tensor<f32,[128,128]>");
}

TEST(NarrowWeights, SmallOnesAreLeftToFolding) {
  EXPECT_EQ(RightOperand(Dequantized(4, "[4,1]", 4)), "mul:tensor<f32,[4,128]>");
}

TEST(NarrowWeights, HalvesAreReadAsTheyAre) {
  for (std::string type : {"f16", "bf16"}) {
    const std::string weights =
        Constant(1, type + ",[128,128]", 128 * 128) + "  %2: tensor<f32,[128,128]> = cast(%1) {to = f32}\n";
    EXPECT_EQ(RightOperand(Product(weights, 2, kRows)), "constant:tensor<" + type + ",[128,128]>");
    const std::string turned = weights + "  %3: tensor<f32,[128,128]> = transpose(%2) {perm = [1, 0]}\n";
    EXPECT_EQ(RightOperand(Product(turned, 3, kRows)), "transpose:tensor<" + type + ",[128,128]>");
  }
}

TEST(NarrowWeights, WhatDependsOnInputsStays) {
  const std::string weights =
      Constant(1, "i8,[128,128]", 128 * 128) +
      "  %2: tensor<f32,[128,128]> = cast(%1) {to = f32}\n"
      "  %3: tensor<f32,[n,128]> = slice(%0) {dims = dims[n, 128], starts = dims[0, 0], steps = dims[1, 1]}\n"
      "  %4: tensor<f32,[1,128]> = reduce(%3) {flags = dims[1, 0], kind = \"sum\", select_last = 0}\n"
      "  %5: tensor<f32,[128,128]> = mul(%2, %4)\n";
  EXPECT_EQ(RightOperand(Product(weights, 5, kRows)), "mul:tensor<f32,[128,128]>");
}

}  // namespace
}  // namespace tvmvm::passes
