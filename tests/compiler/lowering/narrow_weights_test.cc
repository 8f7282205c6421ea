// --weights int8, int4: how near the outputs are to those of the model as it was given.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

constexpr int64_t kWidth = 64, kHidden = 160, kTokens = 1000;

std::string Constant(int value, const std::vector<int64_t>& dims, std::mt19937& random) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(dims[0])));
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(normal(random));
  const std::string type = fmt::format("f32,[{}]", fmt::join(dims, ","));
  return fmt::format("  %{0}: tensor<{1}> = constant() {{data = dense<{1}>[{2}]}}\n", value, type,
                     fmt::join(numbers, ", "));
}

// Rows of a table, a hidden layer with a residual around it, and scores of all rows of another table.
std::string Network() {
  std::mt19937 random(11);
  const char* product = "{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}";
  std::string text = "symbol n: [0, inf] input\nfunc @main {\n  input \"ids\" = %0: tensor<i64,[n]>\n";
  text += Constant(1, {kTokens, kWidth}, random) + Constant(2, {kWidth, kHidden}, random) +
          Constant(3, {kHidden, kWidth}, random) + Constant(4, {kTokens, kWidth}, random);
  text += fmt::format("  %5: tensor<f32,[n,{}]> = gather(%1, %0) {{axis = 0}} from \"rows\"\n", kWidth);
  text += fmt::format("  %6: tensor<f32,[n,{}]> = contract(%5, %2) {} from \"up\"\n", kHidden, product);
  text += fmt::format("  %7: tensor<f32,[n,{}]> = tanh(%6)\n", kHidden);
  text += fmt::format("  %8: tensor<f32,[n,{}]> = contract(%7, %3) {} from \"down\"\n", kWidth, product);
  text += fmt::format("  %9: tensor<f32,[n,{}]> = add(%8, %5)\n", kWidth);
  text += fmt::format(
      "  %10: tensor<f32,[n,{}]> = contract(%9, %4) {{lhs_batch = [], lhs_contract = [1], rhs_batch = [], "
      "rhs_contract = [1]}} from \"scores\"\n",
      kTokens);
  return text + "  output \"y\" = %10\n}\n";
}

CompileResult Compiled(WeightStorage weights, const std::vector<std::string>& targets = {}) {
  CompileOptions options;
  options.targets = targets;
  options.weights = weights;
  const std::string text = Network();
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? std::move(*compiled) : CompileResult();
}

std::vector<float> OutputOf(const std::shared_ptr<const Program>& program, std::vector<int64_t> ids) {
  auto vm = Vm::Create(program, {.threads = 1});
  EXPECT_TRUE(vm) << vm.error().message;
  if (!vm) return {};
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kI64, {static_cast<int64_t>(ids.size())}, ids.data())};
  std::vector<Tensor> outputs(1);
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  EXPECT_TRUE(status) << status.error().message;
  if (!status) return {};
  auto* data = static_cast<const float*>(outputs[0].data());
  return {data, data + outputs[0].element_count()};
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0, squares_a = 0, squares_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * b[i];
    squares_a += double{a[i]} * a[i];
    squares_b += double{b[i]} * b[i];
  }
  return product / std::sqrt(squares_a * squares_b);
}

TEST(NarrowWeights, OutputsStayNear) {
  const std::vector<int64_t> few{3}, many{1, 5, 99, 42, 7, 0, 23, 64, 11, 12, 13, 14};
  const CompileResult given = Compiled(WeightStorage::kAsGiven);
  const CompileResult bytes = Compiled(WeightStorage::kInt8), nibbles = Compiled(WeightStorage::kInt4);
  ASSERT_TRUE(given.program && bytes.program && nibbles.program);
  for (const std::vector<int64_t>& ids : {few, many}) {
    const std::vector<float> wanted = OutputOf(given.program, ids);
    EXPECT_GT(Cosine(OutputOf(bytes.program, ids), wanted), 0.999);
    EXPECT_GT(Cosine(OutputOf(nibbles.program, ids), wanted), 0.99);
    EXPECT_LT(Cosine(OutputOf(nibbles.program, ids), wanted), 0.99999) << "was anything rounded?";
  }
}

TEST(NarrowWeights, EveryLevelGivesNearlyTheSame) {
  const std::vector<int64_t> ids{1, 5, 99};
  const CompileResult level = Compiled(WeightStorage::kInt4, {"x86-64-v3"});
  ASSERT_TRUE(level.program);
  if (!Vm::Create(level.program, {.threads = 1})) GTEST_SKIP() << "another kind of CPU";
  const std::vector<float> v3 = OutputOf(level.program, ids),
                           all = OutputOf(Compiled(WeightStorage::kInt4).program, ids);
  ASSERT_EQ(v3.size(), all.size());
  for (size_t i = 0; i < v3.size(); ++i) EXPECT_NEAR(v3[i], all[i], 1e-5);
}

TEST(NarrowWeights, TheProgramIsSmaller) {
  auto size = [](WeightStorage weights) {
    return SerializeProgram(*Compiled(weights, {"host"}).program)->size();
  };
  constexpr size_t kNumbers = 2 * (kTokens + kHidden) * kWidth;
  // Kernels that read codes are longer.
  EXPECT_LT(size(WeightStorage::kInt8) + kNumbers * 2, size(WeightStorage::kAsGiven));
  auto bytes = [](WeightStorage weights) {
    int64_t sum = 0;
    for (const WeightReport& weight : Compiled(weights, {"host"}).weights) sum += weight.bytes;
    return sum;
  };
  EXPECT_LT(bytes(WeightStorage::kInt4), bytes(WeightStorage::kInt8) * 9 / 10);
}

TEST(NarrowWeights, EachIsReported) {
  EXPECT_TRUE(Compiled(WeightStorage::kAsGiven).weights.empty());
  const CompileResult result = Compiled(WeightStorage::kInt8);
  ASSERT_EQ(result.weights.size(), 4u);
  EXPECT_EQ(result.weights[1].node, "up");
  EXPECT_EQ(result.weights[1].dims, (std::vector<int64_t>{kWidth, kHidden}));
  for (const WeightReport& weight : result.weights) {
    EXPECT_LT(weight.bytes * 3, weight.bytes_before) << weight.node;
    EXPECT_GT(weight.relative_error, 0) << weight.node;
    EXPECT_LT(weight.relative_error, 0.01) << weight.node;
    EXPECT_LT(weight.largest_error, 0.01) << weight.node;
  }
}

}  // namespace
}  // namespace tvmvm
