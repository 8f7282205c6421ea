// Which products are divided along their depth.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/graph/core_op.h"
#include "compiler/graph/parser.h"
#include "compiler/graph/verifier.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

// The type of the right factor of x [rows, depth] by constant [depth, columns] after the pass.
std::string RightFactor(const std::string& rows, int64_t depth, int64_t columns) {
  std::string numbers = "1";
  for (int64_t i = 1; i < depth * columns; ++i) numbers += fmt::format(", {}", i % 7);
  const std::string type = fmt::format("f32,[{},{}]", depth, columns);
  const std::string text = fmt::format(
      "{5}func @main {{\n  input \"x\" = %0: tensor<f32,[{0},{1}]>\n"
      "  %1: tensor<{2}> = constant() {{data = dense<{2}>[{3}]}}\n"
      "  %2: tensor<f32,[{0},{4}]> = contract(%0, %1) {{lhs_batch = [], lhs_contract = [1], "
      "rhs_batch = [], rhs_contract = [0]}}\n  output \"y\" = %2\n}}\n",
      rows, depth, type, numbers, columns, rows == "n" ? "symbol n: [0, inf] input\n" : "");
  Expected<ir::Module> module = ir::ParseModule(text);
  EXPECT_TRUE(module) << module.error().message;
  if (!module) return {};
  EXPECT_TRUE(SplitDepth(*module, {}));
  Status status = ir::VerifyModule(*module);
  EXPECT_TRUE(status) << status.error().message;
  const ir::Function& function = module->main();
  for (ir::NodeId id : function.region(function.body).nodes)
    if (function.node(id).op->kind == ir::OpKind::kContraction)
      return function.type(function.node(id).inputs[1]).ToString();
  return {};
}

TEST(SplitDepth, DividesLongDepths) {
  EXPECT_EQ(RightFactor("n", 4096, 3), "tensor<f32,[2,2048,3]>");
  EXPECT_EQ(RightFactor("16", 16384, 1), "tensor<f32,[8,2048,1]>");
}

TEST(SplitDepth, LeavesWhatIsShortWideOrHigh) {
  EXPECT_EQ(RightFactor("n", 2048, 3), "tensor<f32,[2048,3]>");
  EXPECT_EQ(RightFactor("n", 4097, 2), "tensor<f32,[4097,2]>");
  EXPECT_EQ(RightFactor("n", 4096, 129), "tensor<f32,[4096,129]>");
  EXPECT_EQ(RightFactor("500", 4096, 3), "tensor<f32,[4096,3]>");
}

}  // namespace
}  // namespace tvmvm::passes
