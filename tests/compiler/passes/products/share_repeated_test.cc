// Products that read what is repeated once, and contractions that multiply no matrices: the same results.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/core_op.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using RunPass = Status (*)(ir::Module&, const PassContext&);

ir::TensorData Numbers(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t size : dims) count *= size;
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>((i * 37) % 23 - 11));
  return ir::TensorData::FromVector(DType::kF32, dims, numbers);
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The function after the pass and dead nodes gone; small integers, so that sums are exact in any order.
std::string After(RunPass pass, const std::string& nodes, const std::vector<std::vector<int64_t>>& dims) {
  std::string text;
  for (const char* symbol : {"b", "m", "u"})
    if (Has(nodes, fmt::format("[{}", symbol)) || Has(nodes, fmt::format(",{}", symbol)))
      text += fmt::format("symbol {}: [0, inf] input\n", symbol);
  text += "func @main {\n" + nodes + "}\n";
  Expected<ir::Module> module = ir::ParseModule(text);
  EXPECT_TRUE(module) << module.error().message;
  if (!module) return {};
  std::vector<ir::TensorData> inputs;
  for (const std::vector<int64_t>& list : dims) inputs.push_back(Numbers(list));
  auto wanted = ir::EvaluateFunction(module->main(), inputs);
  EXPECT_TRUE(wanted) << wanted.error().message;
  EXPECT_TRUE(pass(*module, {}));
  EXPECT_TRUE(EliminateDead(*module, {}));
  Status status = ir::VerifyModule(*module);
  EXPECT_TRUE(status) << status.error().message;
  auto got = ir::EvaluateFunction(module->main(), inputs);
  EXPECT_TRUE(got) << got.error().message;
  if (wanted && got) {
    EXPECT_EQ((*got)[0].dims, (*wanted)[0].dims);
    EXPECT_TRUE(std::ranges::equal((*got)[0].bytes, (*wanted)[0].bytes)) << ir::PrintModule(*module);
  }
  return ir::PrintModule(*module);
}

TEST(ShareRepeated, HeadsThatShareKeys) {
  const std::string text =
      After(ShareRepeated,
            "  input \"x\" = %0: tensor<f32,[b,6,m,4]>\n  input \"k\" = %1: tensor<f32,[b,2,u,4]>\n"
            "  %2: tensor<f32,[b,2,1,u,4]> = reshape(%1) {dims = dims[b, 2, 1, u, 4]}\n"
            "  %3: tensor<f32,[b,2,3,u,4]> = expand(%2) {dims = dims[b, 2, 3, u, 4]}\n"
            "  %4: tensor<f32,[b,6,u,4]> = reshape(%3) {dims = dims[b, 6, u, 4]}\n"
            "  %5: tensor<f32,[b,6,4,u]> = transpose(%4) {perm = [0, 1, 3, 2]}\n"
            "  %6: tensor<f32,[b,6,m,u]> = contract(%0, %5) {lhs_batch = [0, 1], lhs_contract = [3], "
            "rhs_batch = [0, 1], rhs_contract = [2]}\n  output \"y\" = %6\n",
            {{2, 6, 3, 4}, {2, 2, 5, 4}});
  EXPECT_FALSE(Has(text, "expand(")) << text;
}

TEST(ShareRepeated, MatricesForAllBatches) {
  const std::string text =
      After(ShareRepeated,
            "  input \"x\" = %0: tensor<f32,[b,3,m,4]>\n  input \"w\" = %1: tensor<f32,[1,1,u,4]>\n"
            "  %2: tensor<f32,[1,1,4,u]> = transpose(%1) {perm = [0, 1, 3, 2]}\n"
            "  %3: tensor<f32,[b,3,4,u]> = expand(%2) {dims = dims[b, 3, 4, u]}\n"
            "  %4: tensor<f32,[b,3,m,u]> = contract(%0, %3) {lhs_batch = [0, 1], lhs_contract = [3], "
            "rhs_batch = [0, 1], rhs_contract = [2]}\n  output \"y\" = %4\n",
            {{2, 3, 2, 4}, {1, 1, 5, 4}});
  EXPECT_FALSE(Has(text, "expand(")) << text;
  EXPECT_TRUE(Has(text, "rhs_batch = []")) << text;
}

TEST(ShareRepeated, TheLastBatchAlone) {
  const std::string text =
      After(ShareRepeated,
            "  input \"x\" = %0: tensor<f32,[b,3,m,4]>\n  input \"w\" = %1: tensor<f32,[b,1,4,u]>\n"
            "  %2: tensor<f32,[b,3,4,u]> = expand(%1) {dims = dims[b, 3, 4, u]}\n"
            "  %3: tensor<f32,[b,3,m,u]> = contract(%0, %2) {lhs_batch = [0, 1], lhs_contract = [3], "
            "rhs_batch = [0, 1], rhs_contract = [2]}\n  output \"y\" = %3\n",
            {{2, 3, 2, 4}, {2, 1, 4, 5}});
  EXPECT_FALSE(Has(text, "expand(")) << text;
}

// Rows would have to be turned: the first batch is repeated, the second is not.
TEST(ShareRepeated, LeavesOtherOrders) {
  const std::string text =
      After(ShareRepeated,
            "  input \"x\" = %0: tensor<f32,[b,3,m,4]>\n  input \"w\" = %1: tensor<f32,[1,3,4,u]>\n"
            "  %2: tensor<f32,[b,3,4,u]> = expand(%1) {dims = dims[b, 3, 4, u]}\n"
            "  %3: tensor<f32,[b,3,m,u]> = contract(%0, %2) {lhs_batch = [0, 1], lhs_contract = [3], "
            "rhs_batch = [0, 1], rhs_contract = [2]}\n  output \"y\" = %3\n",
            {{2, 3, 2, 4}, {1, 3, 4, 5}});
  EXPECT_TRUE(Has(text, "expand(")) << text;
}

TEST(PlainProducts, OuterProducts) {
  const std::string text =
      After(RewritePlainProducts,
            "  input \"x\" = %0: tensor<f32,[b,m,1]>\n  input \"w\" = %1: tensor<f32,[b,1,u]>\n"
            "  %2: tensor<f32,[b,m,u]> = contract(%0, %1) {lhs_batch = [0], lhs_contract = [2], "
            "rhs_batch = [0], rhs_contract = [1]}\n  output \"y\" = %2\n",
            {{2, 3, 1}, {2, 1, 4}});
  EXPECT_FALSE(Has(text, "contract(")) << text;
}

TEST(PlainProducts, DotProducts) {
  const std::string text =
      After(RewritePlainProducts,
            "  input \"x\" = %0: tensor<f32,[b,1,u]>\n  input \"w\" = %1: tensor<f32,[b,u,1]>\n"
            "  %2: tensor<f32,[b,1,1]> = contract(%0, %1) {lhs_batch = [0], lhs_contract = [2], "
            "rhs_batch = [0], rhs_contract = [1]}\n  output \"y\" = %2\n",
            {{3, 1, 5}, {3, 5, 1}});
  EXPECT_FALSE(Has(text, "contract(")) << text;
}

TEST(PlainProducts, LeavesMatrices) {
  const std::string text =
      After(RewritePlainProducts,
            "  input \"x\" = %0: tensor<f32,[m,2]>\n  input \"w\" = %1: tensor<f32,[2,u]>\n"
            "  %2: tensor<f32,[m,u]> = contract(%0, %1) {lhs_batch = [], lhs_contract = [1], "
            "rhs_batch = [], rhs_contract = [0]}\n  output \"y\" = %2\n",
            {{3, 2}, {2, 4}});
  EXPECT_TRUE(Has(text, "contract(")) << text;
}

}  // namespace
}  // namespace tvmvm::passes
