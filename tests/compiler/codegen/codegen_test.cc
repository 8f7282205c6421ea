#include "compiler/codegen/codegen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler/codegen/compiled_kernel.h"

namespace tvmvm::codegen {
namespace {

using namespace tensor;  // NOLINT

// out[i] = a[i] * 2 + b[i] for i < n: vectors of `lanes`, the last one under a mask.
LoopKernel ScaleAdd(int lanes) {
  LoopKernel kernel;
  kernel.name = "scale_add";
  uint32_t a = kernel.AddArgument("a", DType::kF32, Access::kRead);
  uint32_t b = kernel.AddArgument("b", DType::kF32, Access::kRead);
  uint32_t out = kernel.AddArgument("out", DType::kF32, Access::kWrite);
  ir::Dim n = ir::Dim::Symbol("n");
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  kernel.grid_size[0] = CeilDiv(n, lanes);
  VariableId lane = kernel.NewVariable("lane");
  Expr i = Variable(kernel.grid[0]) * IntConstant(lanes) + Variable(lane);
  Expr value = Load(a, DType::kF32, i) * FloatConstant(2) + Load(b, DType::kF32, i);
  kernel.body = For(lane, IntConstant(0), IntConstant(lanes), If(Less(i, DimValue(n)), Store(out, i, value)),
                    LoopKind::kVectorized);
  return kernel;
}

TEST(Codegen, RunsAMaskedVectorLoop) {
  for (int lanes : {1, 4, 16, 32}) {
    LoopKernel kernel = ScaleAdd(lanes);
    for (CpuLevel level : LevelsHere()) {
      CompiledKernel compiled(kernel, level);
      std::vector<float> a(37), b(37), out(40, -1);
      for (int i = 0; i < 37; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(100 * i);
      ASSERT_EQ(compiled.Run({a.data(), b.data(), out.data()}, [](const std::string&) { return 37; }), 0);
      for (int i = 0; i < 37; ++i) ASSERT_EQ(out[i], 102 * i) << i;
      for (int i = 37; i < 40; ++i) ASSERT_EQ(out[i], -1) << i;
    }
  }
}

}  // namespace
}  // namespace tvmvm::codegen
