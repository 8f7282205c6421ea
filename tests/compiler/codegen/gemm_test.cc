// A register-tiled matrix product written in loop IR: its accumulators must live in registers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/compiler/codegen/compiled_kernel.h"

namespace tvmvm::codegen {
namespace {

using namespace tensor;  // NOLINT

// c[m, n] = a[m, k] * b, b packed in panels [n / columns][k][columns]. One grid point: one tile of `rows` x
// `columns`.
LoopKernel Gemm(int rows, int columns, int lanes) {
  LoopKernel kernel;
  kernel.name = "gemm";
  ir::Dim m = ir::Dim::Symbol("m"), n = ir::Dim::Symbol("n"), k = ir::Dim::Symbol("k");
  uint32_t a = kernel.AddArgument("a", DType::kF32, Access::kRead);
  uint32_t b = kernel.AddArgument("b", DType::kF32, Access::kRead);
  uint32_t c = kernel.AddArgument("c", DType::kF32, Access::kWrite);
  uint32_t acc = kernel.AddLocal("acc", DType::kF32, Memory::kRegisters, rows * columns);
  uint32_t row = kernel.AddLocal("row", DType::kF32, Memory::kRegisters, columns);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  kernel.grid_size[0] = FloorDiv(m, rows);
  kernel.grid_size[1] = FloorDiv(n, columns);
  Expr row0 = Variable(kernel.grid[0]) * IntConstant(rows), panel = Variable(kernel.grid[1]);
  Expr depth = DimValue(k);
  auto each = [&](const char* name, int count, LoopKind kind, const std::function<StmtPtr(Expr)>& body) {
    VariableId v = kernel.NewVariable(name);
    return For(v, IntConstant(0), IntConstant(count), body(Variable(v)), kind);
  };
  auto tile = [&](const std::function<StmtPtr(Expr, Expr)>& body) {  // row, column within the tile
    return each("i", rows, LoopKind::kUnrolled, [&](Expr i) {
      return each("j", columns / lanes, LoopKind::kUnrolled, [&](Expr j) {
        return each("l", lanes, LoopKind::kVectorized,
                    [&](Expr l) { return body(i, j * IntConstant(lanes) + l); });
      });
    });
  };
  VariableId kk = kernel.NewVariable("k");
  StmtPtr load_row = each("j", columns / lanes, LoopKind::kUnrolled, [&](Expr j) {
    return each("l", lanes, LoopKind::kVectorized, [&](Expr l) {
      Expr column = j * IntConstant(lanes) + l;
      return Store(row, column,
                   Load(b, DType::kF32, (panel * depth + Variable(kk)) * IntConstant(columns) + column));
    });
  });
  StmtPtr update = tile([&](Expr i, Expr j) {
    Expr at = i * IntConstant(columns) + j;
    Expr left = Load(a, DType::kF32, (row0 + i) * depth + Variable(kk));
    return Store(acc, at, Fma(left, Load(row, DType::kF32, j), Load(acc, DType::kF32, at)));
  });
  kernel.body = Block({
      Allocate(acc),
      tile([&](Expr i, Expr j) { return Store(acc, i * IntConstant(columns) + j, FloatConstant(0)); }),
      For(kk, IntConstant(0), depth, Block({Allocate(row), load_row, update})),
      tile([&](Expr i, Expr j) {
        Expr at = (row0 + i) * DimValue(n) + panel * IntConstant(columns) + j;
        return Store(c, at, Load(acc, DType::kF32, i * IntConstant(columns) + j));
      }),
  });
  return kernel;
}

struct Tile {
  int rows, columns, lanes;
  CpuLevel level;
};

class GemmTile : public testing::TestWithParam<Tile> {};

TEST_P(GemmTile, AccumulatorsBecomeRegisters) {
  Tile t = GetParam();
  LoopKernel kernel = Gemm(t.rows, t.columns, t.lanes);
  CodegenOptions options;
  options.target = TargetInfoFor(t.level);
  Expected<std::string> text = PrintLlvm({"gemm", &kernel}, options);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, testing::Not(testing::HasSubstr("alloca")));
}

TEST_P(GemmTile, ComputesTheProduct) {
  Tile t = GetParam();
  std::vector<CpuLevel> here = LevelsHere();
  if (std::find(here.begin(), here.end(), t.level) == here.end()) GTEST_SKIP() << "not on this CPU";
  LoopKernel kernel = Gemm(t.rows, t.columns, t.lanes);
  CompiledKernel compiled(kernel, t.level);
  int64_t m = t.rows * 2, n = t.columns * 3, k = 37;
  std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k)),
      c(static_cast<size_t>(m * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 6;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3;
  auto symbols = [&](const ir::SymbolId& s) { return s.name() == "m" ? m : s.name() == "n" ? n : k; };
  ASSERT_EQ(compiled.Run({a.data(), b.data(), c.data()}, symbols), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += a[static_cast<size_t>(i * k + l)] *
               b[static_cast<size_t>(((j / t.columns) * k + l) * t.columns + j % t.columns)];
      ASSERT_EQ(c[static_cast<size_t>(i * n + j)], sum) << i << ", " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Tiles, GemmTile,
                         testing::Values(Tile{6, 16, 8, CpuLevel::kX86_64_V3},
                                         Tile{12, 32, 16, CpuLevel::kX86_64_V4}),
                         [](const auto& info) {
                           return fmt::format("{}x{}", info.param.rows, info.param.columns);
                         });

}  // namespace
}  // namespace tvmvm::codegen
