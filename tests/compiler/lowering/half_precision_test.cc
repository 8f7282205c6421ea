// --precision fp16: what models give with factors of products in f16, beside what they give in f32.
//
// Bounds: rounding a factor takes 2^-12 of it on average (2^-11 at most), and what is off in a sum of
// products has random signs, as the products have: so the root mean square of an output's error is around
// 2^-11 of the output's own for one product, and here, of its largest number, a few times less. 2^-10 is
// allowed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/passes/pass.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"
#include "vm/binding/panel_reader.h"
#include "vm/binding/uses.h"

namespace tvmvm {
namespace {

constexpr double kMostError = 0x1p-10;  // root mean square, of the largest output

std::vector<float> Numbers(int64_t count, unsigned seed) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    numbers.push_back(static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f);
  }
  return numbers;
}

std::string Weights(int value, int64_t rows, int64_t columns) {
  std::string type = fmt::format("f32,[{},{}]", rows, columns);
  return fmt::format("  %{0}: tensor<{1}> = constant() {{data = dense<{1}>[{2}]}}\n", value, type,
                     fmt::join(Numbers(rows * columns, static_cast<unsigned>(value)), ", "));
}

constexpr const char* kProduct = "{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}";

// Two products, a residual, scores of all rows with one another, their softmax.
std::string Network(int64_t width) {
  std::string w = fmt::format("{}", width), text = "symbol n: [0, inf] input\nfunc @main {\n";
  text +=
      "  input \"x\" = %0: tensor<f32,[n," + w + "]>\n" + Weights(1, width, width) + Weights(2, width, width);
  const std::pair<const char*, std::string> nodes[] = {
      {"n,W", std::string("contract(%0, %1) ") + kProduct},
      {"n,W", "tanh(%3)"},
      {"n,W", std::string("contract(%4, %2) ") + kProduct},
      {"n,W", "add(%5, %4)"},
      {"n,n", "contract(%6, %6) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [1]}"},
      {"n,1", "reduce(%7) {flags = dims[0, 1], kind = \"max\", select_last = 0}"},
      {"n,n", "sub(%7, %8)"},
      {"n,n", "exp(%9)"},
      {"n,1", "reduce(%10) {flags = dims[0, 1], kind = \"sum\", select_last = 0}"},
      {"n,n", "div(%10, %11)"},
      {"n,W", std::string("contract(%12, %6) ") + kProduct},
  };
  int value = 3;
  for (const auto& [dims, node] : nodes) {
    std::string size = dims;
    if (size.back() == 'W') size = "n," + w;
    text += fmt::format("  %{}: tensor<f32,[{}]> = {}\n", value++, size, node);
  }
  return text + "  output \"y\" = %13\n}\n";
}

std::vector<float> Floats(std::span<const std::byte> bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

void ExpectClose(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  double squares = 0, largest = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    squares += std::pow(double{got[i]} - want[i], 2);
    largest = std::max(largest, std::fabs(double{want[i]}));
  }
  const double error = std::sqrt(squares / static_cast<double>(want.size())) / largest;
  EXPECT_LT(error, kMostError);
  EXPECT_GT(error, kMostError / 1024) << "was anything rounded?";
}

std::vector<float> Evaluated(const std::string& text, bool half, const std::vector<float>& x, int64_t width) {
  Expected<ir::Module> module = ir::ParseModule(text);
  EXPECT_TRUE(module) << module.error().message;
  passes::PassContext context{.targets = {}, .half_factors = half};
  Status narrowed = passes::NarrowProducts(*module, context);
  EXPECT_TRUE(narrowed) << narrowed.error().message;
  ir::TensorData input =
      ir::TensorData::FromVector(DType::kF32, {static_cast<int64_t>(x.size()) / width, width}, x);
  auto outputs = ir::EvaluateFunction(module->functions[0], std::span(&input, 1));
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? Floats(outputs->front().bytes) : std::vector<float>();
}

std::shared_ptr<const Program> Compiled(const std::string& text, const std::string& device,
                                        Precision precision) {
  CompileOptions options;
  options.devices = {device, "cpu"};
  options.prefer_gpu = true;
  options.strict = device != "cpu";
  options.targets = {"host"};
  options.precision = precision;
  options.disabled_passes = {"plain-products"};  // so that what has one column is a product, too
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? compiled->program : nullptr;
}

// Null where there is no such device.
std::shared_ptr<Device> Gpu(const std::string& name, std::string* reason) {
  auto device = OpenDevice(name, DeviceOptions());
  if (device) return *device;
  *reason = device.error().message;
  return nullptr;
}

std::vector<float> OutputOf(const std::shared_ptr<const Program>& program, std::vector<float> x,
                            int64_t width, std::shared_ptr<Device> gpu) {
  VmOptions options{.threads = 1};
  if (gpu != nullptr) options.devices = {std::move(gpu)};
  auto vm = Vm::Create(program, options);
  EXPECT_TRUE(vm) << vm.error().message;
  if (!vm) return {};
  std::vector<Tensor> inputs{
      Tensor::Borrow(DType::kF32, {static_cast<int64_t>(x.size()) / width, width}, x.data())};
  std::vector<Tensor> outputs(1);
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  EXPECT_TRUE(status) << status.error().message;
  if (!status) return {};
  auto* data = static_cast<const float*>(outputs[0].data());
  return {data, data + outputs[0].element_count()};
}

TEST(HalfPrecision, TheEvaluatorGivesNearlyTheSame) {
  constexpr int64_t kWidth = 16;
  const std::string text = Network(kWidth);
  std::vector<float> x = Numbers(7 * kWidth, 5);
  ExpectClose(Evaluated(text, true, x, kWidth), Evaluated(text, false, x, kWidth));
}

class HalfPrecisionOn : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string reason;
    gpu_ = Gpu(GetParam(), &reason);
    if (gpu_ == nullptr) TVMVM_SKIP_WITHOUT(GetParam(), reason);
  }
  std::shared_ptr<Device> gpu_;
};
INSTANTIATE_TEST_SUITE_P(Gpus, HalfPrecisionOn, testing::Values("opencl", "vulkan"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(HalfPrecisionOn, NearlyWhatTheCpuGives) {
  constexpr int64_t kWidth = 24;
  const std::string text = Network(kWidth);
  auto program = Compiled(text, GetParam(), Precision::kF16);
  auto cpu = Compiled(text, "cpu", Precision::kF32);
  ASSERT_TRUE(program && cpu);
  for (int64_t rows : {1, 6, 37, 70}) {
    SCOPED_TRACE(rows);
    std::vector<float> x = Numbers(rows * kWidth, 9);
    ExpectClose(OutputOf(program, x, kWidth, gpu_), OutputOf(cpu, x, kWidth, nullptr));
  }
}

// Two convolutions of channels_last data, the first over its edges, the second by strides.
std::string Convolutions(int64_t height, int64_t channels) {
  auto weights = [](int value, int64_t outputs, int64_t inputs) {
    std::string type = fmt::format("f32,[{},{},3,3]", outputs, inputs);
    return fmt::format("  %{0}: tensor<{1}> = constant() {{data = dense<{1}>[{2}]}}\n", value, type,
                       fmt::join(Numbers(outputs * inputs * 9, static_cast<unsigned>(value)), ", "));
  };
  auto conv = [](const char* stride, const char* padding) {
    return fmt::format(
        "{{dilations = [1, 1], groups = 1, high = dims[{1}, {1}], layout = channels_last, low = "
        "dims[{1}, "
        "{1}], strides = [{0}, {0}]}}\n",
        stride, padding);
  };
  const int64_t less = (height - 3) / 2 + 1;
  std::string text = "symbol n: [0, inf] input\nfunc @main {\n";
  text += fmt::format("  input \"x\" = %0: tensor<f32,[n,{}]>\n", height * height * channels);
  text += weights(1, 2 * channels, channels) + weights(2, 12, 2 * channels);
  text += fmt::format("  %3: tensor<f32,[n,{0},{0},{1}]> = reshape(%0) {{dims = dims[n, {0}, {0}, {1}]}}\n",
                      height, channels);
  text +=
      fmt::format("  %4: tensor<f32,[n,{0},{0},{1}]> = conv(%3, %1) ", height, 2 * channels) + conv("1", "1");
  text += fmt::format("  %5: tensor<f32,[n,{0},{0},{1}]> = tanh(%4)\n", height, 2 * channels);
  text += fmt::format("  %6: tensor<f32,[n,{0},{0},12]> = conv(%5, %2) ", less) + conv("2", "0");
  return text + "  output \"y\" = %6\n}\n";
}

TEST(HalfPrecision, WeightsOfConvolutionsLieByChannels) {
  for (int64_t channels : {8, 9}) {
    Expected<ir::Module> module = ir::ParseModule(Convolutions(5, channels));
    ASSERT_TRUE(module) << module.error().message;
    ASSERT_TRUE(passes::NarrowProducts(*module, {.targets = {}, .half_factors = true}));
    std::string text = ir::PrintModule(*module);
    EXPECT_EQ(text.find("weights = channels_last") != std::string::npos, channels == 8) << text;
    EXPECT_EQ(text.find("f16,[16,3,3,8]") != std::string::npos, channels == 8) << text;
  }
}

TEST(HalfPrecision, TheEvaluatorGivesNearlyTheSameOfConvolutions) {
  for (int64_t channels : {8, 9}) {
    const std::string text = Convolutions(5, channels);
    const int64_t width = 25 * channels;
    std::vector<float> x = Numbers(2 * width, 5);
    ExpectClose(Evaluated(text, true, x, width), Evaluated(text, false, x, width));
  }
}

TEST_P(HalfPrecisionOn, ConvolutionsGiveNearlyTheSame) {
  for (int64_t channels : {8, 9}) {
    const std::string text = Convolutions(7, channels);
    const int64_t width = 49 * channels;
    auto program = Compiled(text, GetParam(), Precision::kF16);
    auto cpu = Compiled(text, "cpu", Precision::kF32);
    ASSERT_TRUE(program && cpu);
    for (int64_t pictures : {1, 5}) {
      std::vector<float> x = Numbers(pictures * width, 9);
      ExpectClose(OutputOf(program, x, width, gpu_), OutputOf(cpu, x, width, nullptr));
    }
  }
}

// A factor that is all rows but the first of a value of f16: it does not begin at a whole vector.
std::string Shifted(int64_t rows, int64_t width) {
  std::string text = fmt::format("func @main {{\n  input \"x\" = %0: tensor<f32,[{},{}]>\n", rows, width);
  auto add = [&](int value, int64_t count, const std::string& node) {
    text += fmt::format("  %{}: tensor<f32,[{},{}]> = {}\n", value, count, width, node);
  };
  text += Weights(1, width, width) + Weights(2, width, width);
  add(3, rows, std::string("contract(%0, %1) ") + kProduct);
  add(4, rows - 1,
      fmt::format("slice(%3) {{dims = dims[{}, {}], starts = dims[1, 0], steps = dims[1, 1]}}", rows - 1,
                  width));
  add(5, rows - 1, std::string("contract(%4, %2) ") + kProduct);
  return text + "  output \"y\" = %5\n}\n";
}

TEST_P(HalfPrecisionOn, FactorsThatBeginAnywhere) {
  for (int64_t rows : {5, 50}) {
    for (int64_t width : {18, 20, 24}) {
      SCOPED_TRACE(fmt::format("{} x {}", rows, width));
      const std::string text = Shifted(rows, width);
      auto program = Compiled(text, GetParam(), Precision::kF16);
      auto cpu = Compiled(text, "cpu", Precision::kF32);
      ASSERT_TRUE(program && cpu);
      std::vector<float> x = Numbers(rows * width, 7);
      std::vector<float> got = OutputOf(program, x, width, gpu_);
      ExpectClose(got, OutputOf(cpu, x, width, nullptr));
    }
  }
}

// What is stored between two products: numbers beyond f16's range stay finite, infinities and NaN are kept.
const char kScaled[] = R"(symbol n: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,1]>
  %1: tensor<f32,[]> = constant() {data = dense<f32,[]>[1e6]}
  %2: tensor<f32,[1,1]> = constant() {data = dense<f32,[1,1]>[1]}
  %3: tensor<f32,[n,1]> = mul(%0, %1)
  %4: tensor<f32,[n,1]> = contract(%3, %2) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}
  output "y" = %4
}
)";

void ExpectBounded(const std::vector<float>& y) {
  ASSERT_EQ(y.size(), 6u);
  EXPECT_EQ(y[0], 65504);
  EXPECT_EQ(y[1], -65504);
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(y[3], -INFINITY);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[5], 1);
}

const std::vector<float> kExtremes{1, -3e30f, INFINITY, -INFINITY, NAN, 1e-6f};

TEST(HalfPrecision, FiniteNumbersStayFinite) { ExpectBounded(Evaluated(kScaled, true, kExtremes, 1)); }

TEST_P(HalfPrecisionOn, FiniteNumbersStayFinite) {
  auto program = Compiled(kScaled, GetParam(), Precision::kF16);
  ASSERT_TRUE(program);
  ExpectBounded(OutputOf(program, kExtremes, 1, gpu_));
}

// Of the constants that are copied to the GPU.
int64_t BytesThere(const std::string& text, Precision precision) {
  auto program = Compiled(text, "null", precision);
  if (!program || program->device_entries.empty()) {
    ADD_FAILURE() << "nothing runs there";
    return 0;
  }
  int64_t bytes = 0;
  const Uses uses = UsesOf(*program, program->device_entries[0].function);
  for (uint32_t constant : uses.devices[1].constants) bytes += BytesOf(program->constants[constant]);
  return bytes;
}

TEST(HalfPrecision, TheGpusWeightsTakeHalf) {
  constexpr int64_t kWidth = 500, kWeights = 2 * kWidth * kWidth;
  const std::string text = Network(kWidth);
  const int64_t half = BytesThere(text, Precision::kF16), whole = BytesThere(text, Precision::kF32);
  EXPECT_GE(whole, kWeights * 4);
  EXPECT_LE(half, whole - kWeights * 2);
}

TEST(HalfPrecision, IsForGpus) {
  CompileOptions options;
  options.targets = {"host"};
  options.precision = Precision::kF16;
  const std::string text = Network(4);
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  ASSERT_TRUE(compiled);
  ASSERT_EQ(compiled->warnings.size(), 1u);
  EXPECT_NE(compiled->warnings[0].find("is for GPUs"), std::string::npos);
  std::vector<float> x = Numbers(8, 3);
  EXPECT_EQ(OutputOf(compiled->program, x, 4, nullptr),
            OutputOf(Compiled(text, "cpu", Precision::kF32), x, 4, nullptr));
}

}  // namespace
}  // namespace tvmvm
