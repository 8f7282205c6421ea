// Values that take the memory of what dies where they are made: programs give the same, to the bit, as
// without, and hold less.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

std::shared_ptr<Vm> Compiled(const std::string& text, bool shares) {
  CompileOptions options;
  options.targets = {"host"};
  options.verify_passes = true;
  if (!shares) options.disabled_passes = {"share-memory"};
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  if (!compiled) {
    ADD_FAILURE() << compiled.error().message << "\n" << text;
    return nullptr;
  }
  auto vm = Vm::Create(compiled->program, VmOptions{.threads = 2});
  return vm ? *vm : nullptr;
}

Tensor Numbers(const Shape& shape, uint32_t seed) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    static_cast<float*>(tensor.data())[i] = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return tensor;
}

struct Outcome {
  std::vector<Tensor> outputs;
  int64_t peak_bytes = 0;
};

Outcome RunOn(Vm& vm, const std::vector<Tensor>& inputs) {
  Outcome outcome;
  outcome.outputs.resize(vm.program().main().outputs.size());
  Invocation invocation = vm.NewInvocation();
  for (int turn = 0; turn < 2; ++turn) {  // the second one in the memory of the first
    Status status = invocation.Run(inputs, outcome.outputs);
    EXPECT_TRUE(status) << status.error().message;
  }
  outcome.peak_bytes = vm.NewInvocation().Run(inputs, outcome.outputs) ? invocation.peak_bytes() : 0;
  return outcome;
}

void ExpectSame(const Outcome& got, const Outcome& wanted, const std::string& text) {
  for (size_t k = 0; k < wanted.outputs.size(); ++k) {
    const Tensor &a = got.outputs[k], &b = wanted.outputs[k];
    ASSERT_EQ(a.byte_count(), b.byte_count());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(b.byte_count())), 0)
        << "output " << k << " of\n"
        << text;
  }
  EXPECT_LE(got.peak_bytes, wanted.peak_bytes) << text;
}

// Statements over values of shape [n, m] and [m, n], of which some read a value twice, some as others need it
// later. `product` of [n, m] with [m, 24] and back is what a value cannot be computed in place of.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    text_ =
        "symbol n: [0, inf] input\nsymbol m: [0, inf] input\nfunc @main {\n"
        "  input \"x\" = %0: tensor<f32,[n,m]>\n  input \"y\" = %1: tensor<f32,[n,m]>\n"
        "  input \"v\" = %2: tensor<f32,[m]>\n";
    values_ = {0, 1};
    const uint32_t statements = 6 + random_() % 14;
    for (uint32_t k = 0; k < statements; ++k) Statement();
    const uint32_t outputs = 1 + random_() % 3;
    for (uint32_t k = 0; k < outputs; ++k)
      text_ += fmt::format("  output \"o{}\" = %{}\n", k, values_[values_.size() - 1 - k % values_.size()]);
    text_ += "}\n";
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr const char* kWhole = "tensor<f32,[n,m]>";

  int Emit(const char* type, const std::string& what) {
    text_ += fmt::format("  %{}: {} = {}\n", next_, type, what);
    return next_++;
  }
  // Mostly a recent one, so that others die.
  int Any() { return values_[values_.size() - 1 - std::min<size_t>(random_() % 6, values_.size() - 1)]; }

  void Statement() {
    const int a = Any(), b = Any();
    int made = 0;
    switch (random_() % 7) {
      case 0:
        made = Emit(kWhole, fmt::format("tanh(%{})", a));
        break;
      case 1:
        made = Emit(kWhole, fmt::format("add(%{}, %{})", a, b));
        break;
      case 2:
        made = Emit(kWhole, fmt::format("mul(%{}, %2)", a));
        break;
      case 3:
      case 4: {  // a softmax
        const int most =
            Emit("tensor<f32,[n,1]>", fmt::format("reduce(%{}) {{flags = dims[0, 1], kind = \"max\"}}", a));
        const int less = Emit(kWhole, fmt::format("sub(%{}, %{})", a, most));
        const int up = Emit(kWhole, fmt::format("exp(%{})", less));
        const int sum =
            Emit("tensor<f32,[n,1]>", fmt::format("reduce(%{}) {{flags = dims[0, 1], kind = \"sum\"}}", up));
        made = Emit(kWhole, fmt::format("div(%{}, %{})", up, sum));
        break;
      }
      case 5: {  // rows are taken from another value
        const int turned = Emit("tensor<f32,[m,n]>", fmt::format("transpose(%{}) {{perm = [1, 0]}}", a));
        const int back = Emit("tensor<f32,[n,m]>",
                              fmt::format("transpose(%{}) {{perm = [1, 0]}}",
                                          Emit("tensor<f32,[m,n]>", fmt::format("tanh(%{})", turned))));
        made = Emit(kWhole, fmt::format("sub(%{}, %{})", back, b));
        break;
      }
      default: {
        const int columns =
            Emit("tensor<f32,[1,m]>", fmt::format("reduce(%{}) {{flags = dims[1, 0], kind = \"sum\"}}", a));
        made = Emit(kWhole, fmt::format("sub(%{}, %{})", b, columns));
      }
    }
    values_.push_back(made);
  }

  std::mt19937 random_;
  std::string text_;
  std::vector<int> values_;
  int next_ = 3;
};

TEST(ShareMemory, GivesTheSameOnRandomGraphs) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const RandomGraph graph(seed);
    const auto with = Compiled(graph.text(), true), without = Compiled(graph.text(), false);
    ASSERT_TRUE(with && without);
    std::mt19937 random(seed);
    for (int turn = 0; turn < 4; ++turn) {
      const int64_t n = 1 + random() % (turn == 0 ? 3 : 70), m = 1 + random() % (turn == 1 ? 3 : 90);
      const std::vector<Tensor> inputs = {Numbers({n, m}, seed), Numbers({n, m}, seed + 1),
                                          Numbers({m}, seed + 2)};
      ExpectSame(RunOn(*with, inputs), RunOn(*without, inputs), graph.text());
    }
  }
}

// Normalised rows, a product added to them, and rows again: all lie in the output's memory.
TEST(ShareMemory, ResidualSumsLieInTheOutput) {
  const std::string text = R"(symbol n: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,320]>
  input "down" = %1: tensor<f32,[320,24]>
  input "up" = %2: tensor<f32,[24,320]>
  %3: tensor<f32,[n,1]> = reduce(%0) {flags = dims[0, 1], kind = "max"}
  %4: tensor<f32,[n,320]> = sub(%0, %3)
  %5: tensor<f32,[n,24]> = contract(%4, %1) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}
  %6: tensor<f32,[n,320]> = contract(%5, %2) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}
  %7: tensor<f32,[n,320]> = add(%6, %4)
  %8: tensor<f32,[n,1]> = reduce(%7) {flags = dims[0, 1], kind = "sum"}
  %9: tensor<f32,[n,320]> = sub(%7, %8)
  output "y" = %9
}
)";
  const auto with = Compiled(text, true), without = Compiled(text, false);
  ASSERT_TRUE(with && without);
  const std::vector<Tensor> inputs = {Numbers({50, 320}, 1), Numbers({320, 24}, 2), Numbers({24, 320}, 3)};
  const Outcome got = RunOn(*with, inputs), wanted = RunOn(*without, inputs);
  ExpectSame(got, wanted, text);
  EXPECT_LE(got.peak_bytes, (50 * 320 + 50 * 24) * 4 + 128);
}

}  // namespace
}  // namespace tvmvm
