// Which kernels a program holds, and what launches of them pass.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tvm-vm/compiler.h"

namespace tvmvm {
namespace {

std::vector<KernelSpec> KernelsOfGpus(const std::string& text) {
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  options.devices = {"vulkan", "opencl", "cpu"};
  options.prefer_gpu = true;
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  std::vector<KernelSpec> kernels;
  if (compiled)
    for (const KernelSpec& kernel : compiled->program->kernels)
      if (kernel.device == DeviceClass::kGpu) kernels.push_back(kernel);
  return kernels;
}

// Indices of 64 bits are for sizes that 32 bits do not hold.
TEST(KernelTable, WhatNothingLaunchesIsNotThere) {
  const auto count = [](std::string_view range) {
    return KernelsOfGpus(
               fmt::format("symbol n: {} input\nfunc @main {{\n  input \"x\" = %0: tensor<f32,[n]>\n"
                           "  %1: tensor<f32,[n]> = exp(%0)\n  output \"y\" = %1\n}}\n",
                           range))
        .size();
  };
  EXPECT_EQ(count("[0, inf]"), 2u);
  EXPECT_EQ(count("[0, 1000000]"), 1u);
}

// What is cut off the front is k rows, of which the kernel knows only where the rest begins.
TEST(KernelTable, CodeForGpusTakesWhatItIsTold) {
  const std::vector<KernelSpec> kernels = KernelsOfGpus(R"(symbol n: [0, 1000] input
symbol m: [0, 1000] input
symbol k: [0, 1000] input
func @main {
  input "x" = %0: tensor<f32,[n,m]>
  input "i" = %1: tensor<f32,[k]>
  require() {condition = dim(lt(k, n)), message = "k"}
  %2: tensor<f32,[1,m]> = slice(%0) {dims = dims[1, m], starts = dims[k, 0], steps = dims[1, 1]}
  %3: tensor<f32,[1,m]> = exp(%2)
  %4: tensor<f32,[k]> = exp(%1)
  output "y" = %3
  output "z" = %4
}
)");
  std::set<std::string> symbols;
  for (const KernelSpec& kernel : kernels) {
    EXPECT_NE(kernel.contract, "") << kernel.name;
    EXPECT_TRUE(symbols.insert(kernel.symbol).second) << kernel.symbol;
  }
  EXPECT_TRUE(std::ranges::any_of(symbols, [](const std::string& s) {
    return s.find("_told") != std::string::npos;
  })) << testing::PrintToString(symbols);
}

}  // namespace
}  // namespace tvmvm
