// Batches that are computed sample by sample give what they give at once, in less memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Compiled {
  std::shared_ptr<Vm> vm;
  std::string graph;  // after slice-batches
};

Compiled Compile(const std::string& text, bool slices) {
  Compiled compiled;
  CompileOptions options;
  options.targets = {"host"};
  options.verify_passes = true;
  if (slices) options.print_after = {"slice-batches"};
  if (!slices) options.disabled_passes = {"slice-batches"};
  options.print = [&](const std::string& graph) { compiled.graph = graph; };
  auto result = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  if (!result)
    ADD_FAILURE() << result.error().message;
  else
    compiled.vm = *Vm::Create(result->program, VmOptions{.threads = 2});
  return compiled;
}

Tensor Numbers(const Shape& shape) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
  std::mt19937 random(5);
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    static_cast<float*>(tensor.data())[i] = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return tensor;
}

// Runs on a picture and three sets of weights; the bytes that it held.
int64_t RunOn(Vm& vm, const Shape& picture, std::vector<Tensor>* outputs) {
  const std::vector<Tensor> inputs{Numbers(picture), Numbers({16, 16, 1, 1}), Numbers({16, 16, 3, 3})};
  Invocation invocation = vm.NewInvocation();
  const Status status = invocation.Run(inputs, *outputs);
  EXPECT_TRUE(status) << status.error().message;
  return invocation.peak_bytes();
}

// What the two hold.
std::pair<int64_t, int64_t> ExpectSame(const Compiled& sliced, const Compiled& whole, const Shape& picture,
                                       size_t count) {
  SCOPED_TRACE(picture.ToString());
  std::vector<Tensor> got(count), wanted(count);
  const std::pair held{RunOn(*sliced.vm, picture, &got), RunOn(*whole.vm, picture, &wanted)};
  for (size_t k = 0; k < count; ++k) {
    EXPECT_EQ(got[k].shape().ToString(), wanted[k].shape().ToString());
    const auto *a = static_cast<const float*>(got[k].data()),
               *b = static_cast<const float*>(wanted[k].data());
    const int64_t elements = std::min(got[k].element_count(), wanted[k].element_count());
    const auto is_far = [&](int64_t i) {
      return !(std::abs(a[i] - b[i]) <= 1e-4f * std::max(1.0f, std::abs(b[i])));
    };
    int64_t i = 0;
    while (i < elements && !is_far(i)) ++i;
    if (i < elements)
      ADD_FAILURE() << "output " << k << ", element " << i << ": " << a[i] << ", wanted " << b[i];
  }
  return held;
}

// Convolutions of 1 x 1, 3 x 3 and 1 x 1 on 16 channels, a sum around them, and the means of the planes. With
// `two`, what the first one makes is an output, too.
std::string Network(const std::string& symbols, const std::string& batch, const std::string& side, bool two) {
  const std::string picture = fmt::format("tensor<f32,[{0},{1},{1},16]>", batch, side);
  const auto conv = [&](int result, int input, int weights, int pad) {
    return fmt::format(
        "  %{0}: {1} = conv(%{2}, %{3}) {{dilations = [1, 1], dtype = f32, groups = 1, high = dims[{4}, "
        "{4}], layout = "
        "channels_last, low = dims[{4}, {4}], strides = [1, 1]}} from \"layer {0} (Conv)\"\n",
        result, picture, input, weights, pad);
  };
  return symbols + "func @main {\n  input \"x\" = %0: " + picture +
         "\n  input \"a\" = %1: tensor<f32,[16,16,1,1]>\n  input \"b\" = %2: tensor<f32,[16,16,3,3]>\n" +
         conv(3, 0, 1, 0) + "  %4: " + picture + " = tanh(%3) from \"tanh (Tanh)\"\n" + conv(5, 4, 2, 1) +
         conv(6, 5, 1, 0) + "  %7: " + picture + " = add(%6, %0) from \"sum (Add)\"\n" +
         fmt::format(
             "  %8: tensor<f32,[{},1,1,16]> = reduce(%7) {{flags = dims[0, 1, 1, 0], kind = \"max\"}} from "
             "\"max (ReduceMax)\"\n",
             batch) +
         "  output \"y\" = %8\n" + (two ? "  output \"first\" = %4\n" : "") + "}\n";
}

constexpr std::string_view kOpen = "symbol n: [0, inf] input\nsymbol side: [0, inf] input\n";

TEST(SliceBatches, FixedSizesAreALoop) {
  const std::string text = Network("", "5", "128", false);
  const Compiled sliced = Compile(text, true), whole = Compile(text, false);
  EXPECT_THAT(sliced.graph, HasSubstr("trip = dim(5)"));
  const auto [less, more] = ExpectSame(sliced, whole, {5, 128, 128, 16}, 1);
  EXPECT_LT(less, more / 3);
}

TEST(SliceBatches, OpenSizesAreLookedAtWhenTheyAreKnown) {
  const std::string text = Network(std::string(kOpen), "n", "side", false);
  const Compiled sliced = Compile(text, true), whole = Compile(text, false);
  EXPECT_THAT(sliced.graph, HasSubstr("= loop("));
  const auto [less, more] = ExpectSame(sliced, whole, {6, 128, 128, 16}, 1);
  EXPECT_LT(less, more / 3);
  // One sample, and small ones, are as without the pass.
  for (const Shape& picture : {Shape{1, 128, 128, 16}, Shape{6, 20, 20, 16}, Shape{1, 3, 3, 16}}) {
    const auto [same, wanted] = ExpectSame(sliced, whole, picture, 1);
    EXPECT_EQ(same, wanted);
  }
  ExpectSame(sliced, whole, {2, 133, 133, 16}, 1);
  ExpectSame(sliced, whole, {0, 128, 128, 16}, 1);
}

// What others read of the loop is collected.
TEST(SliceBatches, ValuesThatAreWantedElsewhereAreCollected) {
  for (const bool is_open : {false, true}) {
    const std::string text =
        is_open ? Network(std::string(kOpen), "n", "side", true) : Network("", "3", "128", true);
    const Compiled sliced = Compile(text, true), whole = Compile(text, false);
    EXPECT_THAT(sliced.graph, HasSubstr("= loop("));
    ExpectSame(sliced, whole, {3, 128, 128, 16}, 2);
  }
}

TEST(SliceBatches, SmallSamplesStayTogether) {
  EXPECT_THAT(Compile(Network("", "5", "100", false), true).graph, Not(HasSubstr("= loop(")));
  EXPECT_THAT(Compile(Network("", "1", "128", false), true).graph, Not(HasSubstr("= loop(")));
}

// The reshape is of what the loop makes, be it sample by sample or at once.
TEST(SliceBatches, ViewsOfWhatIsMadeAreOutside) {
  std::string text = Network(std::string(kOpen), "n", "side", false);
  text.resize(text.find("  %8"));
  text +=
      "  %8: tensor<f32,[n,side,side*16]> = reshape(%7) {dims = dims[n, side, side*16]} from \"rows "
      "(Reshape)\"\n"
      "  output \"y\" = %8\n}\n";
  const Compiled sliced = Compile(text, true), whole = Compile(text, false);
  EXPECT_THAT(sliced.graph, HasSubstr("= loop("));
  ExpectSame(sliced, whole, {6, 128, 128, 16}, 1);
  ExpectSame(sliced, whole, {6, 20, 20, 16}, 1);
}

TEST(SliceBatches, WindowsThatAreAddedUpStayTogether) {
  const Compiled compiled = Compile(R"ir(func @main {
  input "x" = %0: tensor<f32,[6,1,6]>
  %1: tensor<f32,[6,1,5]> = fold(%0) {dilations = [1], dims = dims[5], first = dims[0], strides = [1]}
  output "y" = %1
}
)ir",
                                    true);
  EXPECT_THAT(compiled.graph, Not(HasSubstr("= loop(")));
}

}  // namespace
}  // namespace tvmvm
