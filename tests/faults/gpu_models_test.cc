#include "tests/faults/gpu_models.h"

#include <gtest/gtest.h>

#if TVMVM_HAS_COMPILER
#include "tvm-vm/compiler.h"
#endif

namespace tvmvm::testing {

#if TVMVM_HAS_COMPILER

namespace {

// An output that later kernels read, one that is an input as it is, and one at the end.
constexpr std::string_view kRows = R"(symbol n: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,300]>
  input "y" = %1: tensor<f32,[300]>
  %2: tensor<f32,[n,300]> = add(%0, %1)
  %3: tensor<f32,[n,300]> = tanh(%2)
  %4: tensor<f32,[n,1]> = reduce(%3) {flags = dims[0, 1], kind = "sum", select_last = 0}
  %5: tensor<f32,[n,300]> = mul(%3, %4)
  output "tanh" = %3
  output "x" = %0
  output "last" = %5
}
)";

// Launches in turn on the same memory, and constants.
constexpr std::string_view kLoop = R"(symbol i: [0, inf]
func @main {
  input "h" = %0: tensor<f32,[128,128]>
  input "w" = %1: tensor<f32,[128,128]>
  %2: tensor<f32,[128,128]> = loop(%0) {continue = dim(1), count = "", finals = strings[], index = "i", initial = dims[], next = dims[], start = dim(1), symbols = strings[], trip = dim(3)} (%10: tensor<f32,[128,128]>) {
    %11: tensor<f32,[128,128]> = add(%10, %1)
    %12: tensor<f32,[2]> = constant() {data = dense<f32,[2]>[0.5, 0.25]}
    %13: tensor<f32,[1]> = slice(%12) {dims = dims[1], starts = dims[mod(i, 2)], steps = dims[1]}
    %14: tensor<f32,[128,128]> = mul(%11, %13)
    %15: tensor<f32,[128,128]> = tanh(%14)
    yield %15
  }
  output "h_last" = %2
}
)";

Value Numbers(const Shape& shape) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    static_cast<float*>(tensor.data())[i] = static_cast<float>(i * 37 % 101) / 100 - 0.5f;
  return Value(std::move(tensor));
}

}  // namespace

std::vector<std::string> GpuModelNames() { return {"rows", "loop"}; }

FaultyModel MakeGpuModel(const std::string& name, const std::string& device) {
  FaultyModel model;
  model.name = name;
  const bool is_loop = name == "loop";
  CompileOptions options;
  options.devices = {device, "cpu"};
  options.prefer_gpu = true;
  options.strict = true;
  options.targets = {"x86-64-v3"};
  const std::string_view text = is_loop ? kLoop : kRows;
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  if (!compiled) return model;
  model.program = compiled->program;
  model.options.threads = 1;
  model.inputs = is_loop ? std::vector{Numbers({128, 128}), Numbers({128, 128})}
                         : std::vector{Numbers({5, 300}), Numbers({300})};
  return model;
}

#else

std::vector<std::string> GpuModelNames() { return {}; }
FaultyModel MakeGpuModel(const std::string&, const std::string&) { return {}; }

#endif

}  // namespace tvmvm::testing
