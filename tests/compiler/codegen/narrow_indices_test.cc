// Kernels whose indices have 32 bits, on an OpenCL device.
#define CL_TARGET_OPENCL_VERSION 120
#include "compiler/codegen/narrow_indices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tests/compiler/codegen/opencl_runner.h"
#include "tests/require.h"

namespace tvmvm::codegen {
namespace {

using tensor::Expr;

// Numbers that 32 bits do not hold are compared in 64, the one without a magnitude among them.
TEST(NarrowIndices, LargeNumbersStayWide) {
  std::string reason;
  OpenClRunner* opencl = OpenClRunner::Get(&reason);
  if (opencl == nullptr) TVMVM_SKIP_WITHOUT("opencl", reason);
  for (int64_t number : {INT64_MIN, INT64_MIN + 1, -(int64_t{1} << 32), int64_t{-1}}) {
    tensor::LoopKernel kernel;
    kernel.name = "compare";
    kernel.small_sizes = true;
    const uint32_t out = kernel.AddArgument("out", DType::kI32, Access::kWrite);
    for (tensor::VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
    const tensor::VariableId i = kernel.NewVariable("i");
    const Expr is_greater = Less(tensor::IntConstant(number), tensor::Variable(i));
    const Expr value =
        Select(is_greater, tensor::IntConstant(1, DType::kI32), tensor::IntConstant(2, DType::kI32));
    kernel.body = tensor::For(i, tensor::IntConstant(0), tensor::IntConstant(3),
                              tensor::Store(out, tensor::Variable(i), value));
    int32_t results[3] = {};
    const std::vector<std::span<std::byte>> buffers = {std::as_writable_bytes(std::span(results))};
    std::string message;
    EXPECT_EQ(opencl->Run(
                  kernel, buffers, [](auto&) { return std::nullopt; }, &message),
              0);
    EXPECT_EQ(message, "");
    for (int32_t result : results) EXPECT_EQ(result, 1) << number;
  }
}

}  // namespace
}  // namespace tvmvm::codegen
