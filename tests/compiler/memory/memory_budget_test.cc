// Programs that are compiled for less memory: they give what others do, and hold what was promised.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tvm-vm/compiler.h"
#include "tvm-vm/forecast.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Expected<CompileResult> Compile(const std::string& text, int64_t budget,
                                std::vector<std::string> disabled = {}) {
  CompileOptions options;
  options.targets = {"host"};
  options.verify_passes = true;
  options.memory_budget = budget;
  options.disabled_passes = std::move(disabled);
  return GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
}

std::string ErrorOf(const std::string& text, int64_t budget) {
  auto compiled = Compile(text, budget);
  return compiled ? std::string() : CodeName(compiled.error().code) + (": " + compiled.error().message);
}

Tensor Numbers(const Shape& shape, uint32_t seed) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    static_cast<float*>(tensor.data())[i] = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return tensor;
}

std::shared_ptr<Vm> VmOf(const Expected<CompileResult>& compiled) {
  if (!compiled) {
    ADD_FAILURE() << compiled.error().message;
    return nullptr;
  }
  return *Vm::Create(compiled->program, VmOptions{.threads = 2});
}

struct Outcome {
  Tensor output;
  int64_t peak_bytes = 0;
};

Outcome RunOn(Vm& vm, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs(1);
  Invocation invocation = vm.NewInvocation();
  for (int turn = 0; turn < 2; ++turn) {  // the second one in the memory of the first
    outputs[0] = Tensor();
    Status status = invocation.Run(inputs, outputs);
    EXPECT_TRUE(status) << status.error().message;
  }
  return {outputs[0], invocation.peak_bytes()};
}

// As close as sums in another order are.
void ExpectClose(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.shape().ToString(), wanted.shape().ToString());
  const auto *a = static_cast<const float*>(got.data()), *b = static_cast<const float*>(wanted.data());
  for (int64_t i = 0; i < wanted.element_count(); ++i)
    ASSERT_NEAR(a[i], b[i], 1e-4 * std::max(1.0f, std::abs(b[i]))) << "element " << i;
}

// Compiles with the budget and without, runs both on inputs of each of these lists of shapes, and holds the
// first to its word.
MemoryReport ExpectFits(const std::string& text, int64_t budget,
                        const std::vector<std::vector<Shape>>& runs) {
  auto small = Compile(text, budget);
  const auto vm = VmOf(small), free = VmOf(Compile(text, 0));
  if (!vm || !free) return {};
  for (const std::vector<Shape>& shapes : runs) {
    std::vector<Tensor> inputs;
    for (const Shape& shape : shapes) inputs.push_back(Numbers(shape, static_cast<uint32_t>(inputs.size())));
    const Outcome got = RunOn(*vm, inputs), wanted = RunOn(*free, inputs);
    ExpectClose(got.output, wanted.output);
    EXPECT_LE(got.peak_bytes, budget);
  }
  EXPECT_LE(small->memory.bytes, budget);
  return small->memory;
}

// x + tanh(x w) v, where x w is eight times as wide.
std::string Block(const std::string& rows) {
  return fmt::format(
      R"ir(symbol n: [0, {}] input
func @main {{
  input "x" = %0: tensor<f32,[n,64]>
  input "w" = %1: tensor<f32,[64,512]>
  input "v" = %2: tensor<f32,[512,64]>
  %3: tensor<f32,[n,512]> = contract(%0, %1) {{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}} from "up (MatMul)"
  %4: tensor<f32,[n,512]> = tanh(%3) from "tanh (Tanh)"
  %5: tensor<f32,[n,64]> = contract(%4, %2) {{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}} from "down (MatMul)"
  %6: tensor<f32,[n,64]> = add(%5, %0) from "sum (Add)"
  output "y" = %6
}}
)ir",
      rows);
}

TEST(MemoryBudget, SplitsProductsOverRows) {
  const std::string text = Block("384");
  constexpr int64_t kBudget = 400'000;  // as they are: 786432 and an output of 98304 bytes
  // The program is for all sizes, and smaller ones do not hold more.
  std::vector<std::vector<Shape>> runs;
  for (int64_t n : {384, 0, 1, 2, 3, 5, 47, 100, 383}) runs.push_back({{n, 64}, {64, 512}, {512, 64}});
  const MemoryReport report = ExpectFits(text, kBudget, runs);
  EXPECT_EQ(report.budget_bytes, kBudget);
  EXPECT_EQ(report.bytes_before, 786'432 + 98'304);
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_THAT(report.changes[0], AllOf(HasSubstr("up (MatMul)"), HasSubstr("parts")));
  EXPECT_GE(report.time, 1.0);
}

TEST(MemoryBudget, IsWhatThePlanSays) {
  auto compiled = Compile(Block("384"), 300'000);
  const auto vm = VmOf(compiled);
  ASSERT_TRUE(vm);
  const auto forecast = vm->Plan({{"n", {384, 384}}});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_EQ(forecast->peak_bytes.high, compiled->memory.bytes);
}

TEST(MemoryBudget, LeavesWhatFitsAsItIs) {
  auto compiled = Compile(Block("384"), 1'000'000);
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled->memory.changes.empty());
  EXPECT_EQ(compiled->memory.time, 1.0);
}

// A convolution that widens, one of 3 x 3 by steps of two, one that narrows: parts read rows around theirs.
std::string Windows(int height, int stride, bool first) {
  const int half = (height + 2 - 3) / stride + 1;
  const std::string one = "dilations = [1, 1], groups = 1, high = dims[0, 0], ";
  auto shape = [&](int rows, int channels) {
    return first ? fmt::format("tensor<f32,[1,{},{},{}]>", channels, rows, rows)
                 : fmt::format("tensor<f32,[1,{0},{0},{1}]>", rows, channels);
  };
  const std::string layout = first ? "channels_first" : "channels_last";
  return "func @main {\n  input \"x\" = %0: " + shape(height, 8) +
         "\n  input \"a\" = %1: tensor<f32,[48,8,1,1]>\n  input \"b\" = %2: tensor<f32,[48,1,3,3]>\n"
         "  input \"c\" = %3: tensor<f32,[8,48,1,1]>\n  %4: " +
         shape(height, 48) + " = conv(%0, %1) {" + one + "layout = " + layout +
         ", low = dims[0, 0], strides = [1, 1]} from \"wide (Conv)\"\n  %5: " + shape(height, 48) +
         " = tanh(%4)\n  %6: " + shape(half, 48) +
         " = conv(%5, %2) {dilations = [1, 1], groups = 48, high = dims[1, 1], layout = " + layout +
         ", low = dims[1, 1], strides = [" + fmt::format("{0}, {0}", stride) +
         "]} from \"window (Conv)\"\n  %7: " + shape(half, 8) + " = conv(%6, %3) {" + one +
         "layout = " + layout + ", low = dims[0, 0], strides = [1, 1]} from \"narrow (Conv)\"\n" +
         "  output \"y\" = %7\n}\n";
}

TEST(MemoryBudget, SplitsWindowsWithWhatLiesAround) {
  for (const int stride : {1, 2})
    for (const int height : {28, 33}) {
      const std::string text = Windows(height, stride, false);
      auto whole = Compile(text, int64_t{1} << 30);
      ASSERT_TRUE(whole) << whole.error().message;
      const MemoryReport report =
          ExpectFits(text, whole->memory.bytes * 6 / 10,
                     {{{1, height, height, 8}, {48, 8, 1, 1}, {48, 1, 3, 3}, {8, 48, 1, 1}}});
      EXPECT_FALSE(report.changes.empty());
    }
}

// Softmax over rows, reshapes and broadcasting among what is split.
TEST(MemoryBudget, SplitsRowsOfOtherOperators) {
  const std::string text =
      R"ir(symbol n: [0, 256] input
func @main {
  input "x" = %0: tensor<f32,[n,64]>
  input "w" = %1: tensor<f32,[64,768]>
  input "b" = %2: tensor<f32,[256]>
  input "v" = %3: tensor<f32,[256,16]>
  %4: tensor<f32,[n,768]> = contract(%0, %1) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]} from "up (MatMul)"
  %5: tensor<f32,[n,3,256]> = reshape(%4) {dims = dims[n, 3, 256]} from "fold (Reshape)"
  %6: tensor<f32,[n,3,256]> = add(%5, %2) from "add (Add)"
  %7: tensor<f32,[n,3,1]> = reduce(%6) {flags = dims[0, 0, 1], kind = "max"} from "most (Max)"
  %8: tensor<f32,[n,3,256]> = sub(%6, %7) from "sub (Sub)"
  %9: tensor<f32,[n,3,256]> = exp(%8) from "exp (Exp)"
  %10: tensor<f32,[n,3,1]> = reduce(%9) {flags = dims[0, 0, 1], kind = "sum"} from "sum (Sum)"
  %11: tensor<f32,[n,3,256]> = div(%9, %10) from "div (Div)"
  %12: tensor<f32,[n,3,16]> = contract(%11, %3) {lhs_batch = [], lhs_contract = [2], rhs_batch = [], rhs_contract = [0]} from "down (MatMul)"
  output "y" = %12
}
)ir";
  auto whole = Compile(text, int64_t{1} << 30);
  ASSERT_TRUE(whole) << whole.error().message;
  std::vector<std::vector<Shape>> runs;
  for (int64_t n : {256, 100, 1}) runs.push_back({{n, 64}, {64, 768}, {256}, {256, 16}});
  ExpectFits(text, whole->memory.bytes / 2, runs);
}

// What is made early and read late is made late, or again.
TEST(MemoryBudget, ComputesAgainWhatIsCheap) {
  const std::string text =
      R"ir(func @main {
  input "x" = %0: tensor<f32,[200,1]>
  input "z" = %1: tensor<f32,[200,200]>
  input "r" = %2: tensor<f32,[1,200]>
  %3: tensor<f32,[200,200]> = mul(%0, %2) from "outer (Mul)"
  %4: tensor<f32,[200,200]> = contract(%3, %1) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]} from "first (MatMul)"
  %5: tensor<f32,[200,200]> = contract(%4, %1) {lhs_batch = [], lhs_contract = [0], rhs_batch = [], rhs_contract = [0]} from "second (MatMul)"
  %6: tensor<f32,[200,200]> = contract(%5, %1) {lhs_batch = [], lhs_contract = [0], rhs_batch = [], rhs_contract = [1]} from "third (MatMul)"
  %7: tensor<f32,[200,200]> = contract(%3, %6) {lhs_batch = [], lhs_contract = [0], rhs_batch = [], rhs_contract = [1]} from "last (MatMul)"
  output "y" = %7
}
)ir";
  const MemoryReport report = ExpectFits(text, 520'000, {{{200, 1}, {200, 200}, {1, 200}}});
  EXPECT_EQ(report.bytes_before, 4 * 160'000);
  EXPECT_THAT(report.changes, testing::Contains(HasSubstr("outer (Mul) is computed a second time")));
}

TEST(MemoryBudget, SaysWhatIsAliveWhereNothingHelps) {
  EXPECT_THAT(ErrorOf(Block("96"), 25'000),
              AllOf(HasSubstr("out_of_memory: no plan was found that holds at most 25000 bytes; the smallest "
                              "holds "),
                    HasSubstr("alive together: "), HasSubstr("up (MatMul)")));
}

TEST(MemoryBudget, OutputsAloneMayBeTooMuch) {
  EXPECT_EQ(ErrorOf(Block("384"), 50'000),
            "out_of_memory: no plan holds at most 50000 bytes: outputs and what else is held throughout take "
            "98304");
}

TEST(MemoryBudget, WantsBounds) {
  EXPECT_THAT(ErrorOf(Block("inf"), 50'000),
              HasSubstr("invalid_argument: a memory budget needs the largest size of 'n': --dim n=1..N"));
}

}  // namespace
}  // namespace tvmvm
