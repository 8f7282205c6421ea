// Weights stand in a file once, whatever they are read by: products on CPUs in panels, GPUs as they are, and
// gathers of tied weights.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

// Text of a constant of random elements.
std::string Weights(const std::vector<int64_t>& dims, uint32_t seed) {
  std::mt19937 random(seed);
  int64_t count = 1;
  std::string text;
  for (int64_t dim : dims) count *= dim;
  for (int64_t i = 0; i < count; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", static_cast<int>(random() % 33) - 16);
  return fmt::format("dense<f32,[{}]>[{}]", fmt::join(dims, ","), text);
}

struct Model {
  std::string name, text;
  std::vector<Shape> inputs;
  int64_t weights = 0;   // elements, once, in panels of 64 columns
  bool gathers = false;  // input 1 has indices below this many rows
};

std::string Function(const std::string& parameters, const std::string& body, const std::string& output) {
  return "symbol n: [1, 64] input\nfunc @main {\n" + parameters + body + "  output \"y\" = " + output +
         "\n}\n";
}

int64_t InPanels(int64_t columns) { return (columns + 63) / 64 * 64; }

Model Product(int64_t depth, int64_t columns) {
  return {fmt::format("product_{}x{}", depth, columns),
          Function(fmt::format("  input \"x\" = %0: tensor<f32,[n,{}]>\n", depth),
                   fmt::format("  %1: tensor<f32,[{0},{1}]> = constant() {{data = {2}}}\n"
                               "  %2: tensor<f32,[n,{1}]> = contract(%0, %1) {{dtype = f32, lhs_batch = [], "
                               "lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}}\n",
                               depth, columns, Weights({depth, columns}, 1)),
                   "%2"),
          {Shape{3, depth}},
          depth * InPanels(columns)};
}

// Rows of the weights, and a product with what they give.
Model Tied(int64_t rows, int64_t depth) {
  return {fmt::format("tied_{}x{}", rows, depth),
          Function("  input \"i\" = %0: tensor<i64,[n]>\n",
                   fmt::format("  %1: tensor<f32,[{0},{1}]> = constant() {{data = {2}}}\n"
                               "  check_indices(%0) {{sizes = dims[{0}]}}\n"
                               "  %2: tensor<f32,[n,{1}]> = gather(%1, %0) {{axis = 0}}\n"
                               "  %3: tensor<f32,[n,{0}]> = contract(%2, %1) {{dtype = f32, lhs_batch = [], "
                               "lhs_contract = [1], rhs_batch = [], rhs_contract = [1]}}\n",
                               rows, depth, Weights({rows, depth}, 2)),
                   "%3"),
          {Shape{5}},
          depth * InPanels(rows),
          true};
}

std::vector<Model> Models() {
  return {Product(64, 80), Product(40, 50), Product(256, 100), Tied(160, 128), Tied(1003, 72)};
}

Tensor InputOf(const Model& model, const Shape& shape) {
  Tensor tensor = *Tensor::Allocate(model.gathers ? DType::kI64 : DType::kF32, shape);
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    if (model.gathers)
      static_cast<int64_t*>(tensor.data())[i] = i * 37 % 160 - (i % 2 == 0 ? 0 : 160);
    else
      static_cast<float*>(tensor.data())[i] = static_cast<float>(i % 7) - 3;
  }
  return tensor;
}

std::vector<float> ResultOf(const std::shared_ptr<const Program>& program, const Model& model,
                            std::vector<std::shared_ptr<Device>> devices) {
  VmOptions options{.threads = 1};
  options.devices = std::move(devices);
  auto vm = Vm::Create(program, options);
  EXPECT_TRUE(vm) << vm.error().message;
  if (!vm) return {};
  std::vector<Tensor> inputs;
  for (const Shape& shape : model.inputs) inputs.push_back(InputOf(model, shape));
  std::array outputs{Tensor()};
  const Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  EXPECT_TRUE(status) << status.error().message;
  if (!status) return {};
  const auto* y = static_cast<const float*>(outputs[0].data());
  return {y, y + outputs[0].element_count()};
}

std::shared_ptr<const Program> Compiled(const Model& model, const CompileOptions& options) {
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(model.text)), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? compiled->program : nullptr;
}

int64_t ConstantElements(const Program& program) {
  size_t bytes = 0;
  for (const ConstantSpec& constant : program.constants) bytes += constant.bytes.size();
  return static_cast<int64_t>(bytes / sizeof(float));
}

class WeightsOnceOn : public testing::TestWithParam<const char*> {};

TEST_P(WeightsOnceOn, GiveTheSameResults) {
  const bool is_cpu = std::string_view(GetParam()) == "cpu";
  std::vector<std::shared_ptr<Device>> devices;
  if (!is_cpu) {
    auto device = OpenDevice(GetParam(), {});
    if (!device) TVMVM_SKIP_WITHOUT(GetParam(), device.error().message);
    devices.push_back(*device);
  }
  for (const Model& model : Models()) {
    SCOPED_TRACE(model.name);
    CompileOptions options;
    options.targets = {"x86-64-v3"};
    options.verify_passes = true;
    options.prefer_gpu = true;
    if (!is_cpu) options.devices = {GetParam(), "cpu"};
    const auto program = Compiled(model, options);
    ASSERT_NE(program, nullptr);
    EXPECT_LE(ConstantElements(*program), model.weights);
    options.devices = {"cpu"};
    options.disabled_passes = {"read-panels"};
    const std::vector<float> wanted = ResultOf(Compiled(model, options), model, {});
    EXPECT_EQ(ResultOf(program, model, {}), wanted);
    EXPECT_EQ(ResultOf(program, model, devices), wanted) << "sums of small integers are exact";
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, WeightsOnceOn, testing::Values("cpu", "opencl", "vulkan"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tvmvm
