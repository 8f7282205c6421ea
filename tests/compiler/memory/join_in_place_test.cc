// Concats whose parts are made where they lie give the bits that kernels give, in no more memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

struct Compiled {
  std::shared_ptr<Vm> vm;
  int joins = 0;
};

Compiled Compile(const std::string& text, bool joins,
                 std::vector<std::pair<std::string, std::string>> donate = {}) {
  Compiled compiled;
  CompileOptions options;
  options.targets = {"host"};
  options.verify_passes = true;
  options.donate = std::move(donate);
  if (joins) options.print_after = {"join-in-place"};
  if (!joins) options.disabled_passes = {"join-in-place"};
  options.print = [&](const std::string& graph) {
    for (size_t at = 0; (at = graph.find("joined = 1", at)) != std::string::npos; ++at) ++compiled.joins;
  };
  auto result = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  if (!result)
    ADD_FAILURE() << result.error().message << "\n" << text;
  else
    compiled.vm = *Vm::Create(result->program, VmOptions{.threads = 2});
  return compiled;
}

Tensor Numbers(const Shape& shape, uint32_t seed) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    static_cast<float*>(tensor.data())[i] = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return tensor;
}

// The bytes of a run that makes its outputs, and of one in given memory.
struct Outcome {
  std::vector<Tensor> made, given;
  int64_t peak_bytes = 0;
};

Outcome RunOn(Vm& vm, const std::vector<Tensor>& inputs, size_t count) {
  Outcome outcome;
  outcome.made.resize(count);
  Invocation invocation = vm.NewInvocation();
  Status status = invocation.Run(inputs, outcome.made);
  EXPECT_TRUE(status) << status.error().message;
  outcome.peak_bytes = invocation.peak_bytes();
  for (const Tensor& tensor : outcome.made)
    outcome.given.push_back(*Tensor::Allocate(tensor.dtype(), tensor.shape()));
  status = invocation.Run(inputs, outcome.given);
  EXPECT_TRUE(status) << status.error().message;
  return outcome;
}

// How many concats are joined. Results are alike, bit by bit, and a run holds no more.
int JoinsIn(const std::string& text, const std::vector<std::vector<Shape>>& runs, size_t outputs = 1) {
  SCOPED_TRACE(text);
  const Compiled joined = Compile(text, true), plain = Compile(text, false);
  if (!joined.vm || !plain.vm) return -1;
  for (const std::vector<Shape>& shapes : runs) {
    std::vector<Tensor> inputs;
    for (const Shape& shape : shapes)
      inputs.push_back(Numbers(shape, static_cast<uint32_t>(inputs.size() + 1)));
    const Outcome got = RunOn(*joined.vm, inputs, outputs), wanted = RunOn(*plain.vm, inputs, outputs);
    EXPECT_LE(got.peak_bytes, wanted.peak_bytes);
    for (size_t k = 0; k < outputs; ++k)
      for (const Tensor& tensor : {got.made[k], got.given[k], wanted.given[k]}) {
        EXPECT_EQ(tensor.shape().ToString(), wanted.made[k].shape().ToString());
        EXPECT_EQ(
            std::memcmp(tensor.data(), wanted.made[k].data(), wanted.made[k].element_count() * sizeof(float)),
            0);
      }
  }
  return joined.joins;
}

// `lines` on %0: f32[n,m] and %1: f32[k,m].
std::string Function(const std::string& lines) {
  return "symbol k: [0, inf] input\nsymbol m: [0, inf] input\nsymbol n: [0, inf] input\nfunc @main {\n"
         "  input \"x\" = %0: tensor<f32,[n,m]>\n  input \"y\" = %1: tensor<f32,[k,m]>\n" +
         lines + "}\n";
}

const std::vector<std::vector<Shape>> kRuns{
    {{5, 7}, {3, 7}}, {{64, 33}, {65, 33}}, {{0, 4}, {3, 4}}, {{3, 4}, {0, 4}}, {{300, 301}, {1, 301}}};

constexpr std::string_view kTwo =
    "  %2: tensor<f32,[n,m]> = tanh(%0)\n"
    "  %3: tensor<f32,[k,m]> = neg(%1)\n";
constexpr std::string_view kConcat = "  %4: tensor<f32,[n+k,m]> = concat(%2, %3) {axis = 0}\n";

TEST(JoinInPlace, OutputsAreMadeInParts) {
  EXPECT_EQ(JoinsIn(Function(fmt::format("{}{}  output \"z\" = %4\n", kTwo, kConcat)), kRuns), 1);
}

TEST(JoinInPlace, ValuesWithinAreMadeInParts) {
  const std::string text = fmt::format(
      "{}{}  %5: tensor<f32,[n+k,1]> = reduce(%4) {{flags = dims[0, 1], kind = \"max\"}}\n"
      "  output \"z\" = %5\n",
      kTwo, kConcat);
  EXPECT_EQ(JoinsIn(Function(text), kRuns), 1);
}

// What has been made is read where it lies.
TEST(JoinInPlace, PartsMayBeReadByOthers) {
  const std::string text = fmt::format(
      "{}{}  %5: tensor<f32,[n,1]> = reduce(%2) {{flags = dims[0, 1], kind = \"max\"}}\n"
      "  output \"z\" = %4\n  output \"most\" = %5\n",
      kTwo, kConcat);
  EXPECT_EQ(JoinsIn(Function(text), kRuns, 2), 1);
}

TEST(JoinInPlace, PartsMayHaveAnotherShape) {
  const std::string text =
      "  %2: tensor<f32,[n,m]> = tanh(%0)\n"
      "  %3: tensor<f32,[1,n*m]> = reshape(%2) {dims = dims[1, n*m]}\n"
      "  %4: tensor<f32,[k,m]> = neg(%1)\n"
      "  %5: tensor<f32,[1,k*m]> = reshape(%4) {dims = dims[1, k*m]}\n"
      "  %6: tensor<f32,[1,n*m+k*m]> = concat(%3, %5) {axis = 1}\n  output \"z\" = %6\n";
  EXPECT_EQ(JoinsIn(Function(text), kRuns), 1);
}

TEST(JoinInPlace, JoinsAreJoined) {
  const std::string text = fmt::format(
      "{}{}  %5: tensor<f32,[n,m]> = exp(%0)\n"
      "  %6: tensor<f32,[2*n+k,m]> = concat(%5, %4) {{axis = 0}}\n  output \"z\" = %6\n",
      kTwo, kConcat);
  EXPECT_EQ(JoinsIn(Function(text), kRuns), 2);
}

TEST(JoinInPlace, InnerAxesAreNotContiguous) {
  const std::string lines = R"(  %2: tensor<f32,[n,m]> = tanh(%0)
  %3: tensor<f32,[n,m]> = neg(%0)
  %4: tensor<f32,[n,2*m]> = concat(%2, %3) {axis = 1}
  output "z" = %4
)";
  EXPECT_EQ(JoinsIn(Function(lines), kRuns), 0);
}

// An input, a constant, a part of something else, an output, a value twice.
TEST(JoinInPlace, PartsHaveAKernelOfTheirOwn) {
  const auto joins = [](const std::string& lines, size_t outputs = 1) {
    return JoinsIn(Function(lines), kRuns, outputs);
  };
  EXPECT_EQ(joins("  %2: tensor<f32,[n,m]> = tanh(%0)\n"
                  "  %3: tensor<f32,[n+k,m]> = concat(%2, %1) {axis = 0}\n  output \"z\" = %3\n"),
            0);
  EXPECT_EQ(joins("  %2: tensor<f32,[n,m]> = tanh(%0)\n"
                  "  %3: tensor<f32,[2*n,m]> = concat(%2, %2) {axis = 0}\n  output \"z\" = %3\n"),
            0);
  EXPECT_EQ(joins(fmt::format("{}{}  output \"z\" = %4\n  output \"part\" = %3\n", kTwo, kConcat), 2), 0);
  EXPECT_EQ(
      JoinsIn(
          "symbol m: [0, inf] input\nfunc @main {\n  input \"x\" = %0: tensor<f32,[6,m]>\n"
          "  %1: tensor<f32,[6,m]> = tanh(%0)\n  %2: tensor<f32,[6,m]> = neg(%0)\n"
          "  %3: tensor<f32,[2,m]> = slice(%1) {dims = dims[2, m], starts = dims[1, 0], steps = dims[1, 1]}\n"
          "  %4: tensor<f32,[8,m]> = concat(%2, %3) {axis = 0}\n"
          "  %5: tensor<f32,[6,1]> = reduce(%1) {flags = dims[0, 1], kind = \"max\"}\n"
          "  output \"z\" = %4\n  output \"most\" = %5\n}\n",
          {{{6, 5}}, {{6, 100}}}, 2),
      0);
}

// A part lies in one concat only.
TEST(JoinInPlace, TwoConcatsOfAPart) {
  const std::string text = fmt::format(
      "{}{}  %5: tensor<f32,[n+k,m]> = concat(%3, %2) {{axis = 0}}\n"
      "  output \"z\" = %4\n  output \"turned\" = %5\n",
      kTwo, kConcat);
  EXPECT_EQ(JoinsIn(Function(text), kRuns, 2), 1);
}

// Where the result would lie beside what is large between its parts.
TEST(JoinInPlace, IsLeftWhereMoreWouldBeHeld) {
  const auto text = [](int rows) {
    return fmt::format(R"(func @main {{
  input "x" = %0: tensor<f32,[1,64]>
  input "y" = %1: tensor<f32,[1024,64]>
  input "v" = %2: tensor<f32,[{0},64]>
  %3: tensor<f32,[1,64]> = tanh(%0)
  %4: tensor<f32,[{0},64]> = tanh(%2)
  %5: tensor<f32,[1,64]> = reduce(%4) {{flags = dims[1, 0], kind = "max"}}
  %6: tensor<f32,[{0},1]> = reduce(%4) {{flags = dims[0, 1], kind = "max"}}
  %7: tensor<f32,[1024,64]> = add(%1, %5)
  %8: tensor<f32,[1025,64]> = concat(%3, %7) {{axis = 0}}
  %9: tensor<f32,[1025,1]> = reduce(%8) {{flags = dims[0, 1], kind = "max"}}
  output "z" = %9
  output "w" = %6
}}
)",
                       rows);
  };
  EXPECT_EQ(JoinsIn(text(2048), {{{1, 64}, {1024, 64}, {2048, 64}}}, 2), 0);
  EXPECT_EQ(JoinsIn(text(16), {{{1, 64}, {1024, 64}, {16, 64}}}, 2), 1);
}

TEST(JoinInPlace, DonatedMemoryIsLeftAsItIs) {
  const std::string text = Function(fmt::format("{}{}  output \"z\" = %4\n", kTwo, kConcat));
  EXPECT_EQ(Compile(text, true, {{"x", "z"}}).joins, 0);
}

}  // namespace
}  // namespace tvmvm
