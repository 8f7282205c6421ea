// Tiles that are transposed in registers: every form of the shuffles, and that nothing of them is left in
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loops/evaluate_loops.h"
#include "tests/compiler/codegen/compiled_kernel.h"

namespace tvmvm::codegen {
namespace {

using namespace tensor;  // NOLINT

struct Tile {
  DType dtype;
  int rows, columns;
};

// out = the transpose of in, by way of registers. Short rows are stored as vectors of `columns` elements.
LoopKernel Transposed(const Tile& t) {
  LoopKernel kernel;
  kernel.name = "transposed";
  uint32_t in = kernel.AddArgument("in", t.dtype, Access::kRead);
  uint32_t out = kernel.AddArgument("out", t.dtype, Access::kWrite);
  const int size = t.rows * t.columns;
  uint32_t tile = kernel.AddLocal("tile", t.dtype, Memory::kRegisters, size);
  uint32_t turned = kernel.AddLocal("turned", t.dtype, Memory::kRegisters, size);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  auto copy = [&](uint32_t to, uint32_t from, int lanes) {
    VariableId part = kernel.NewVariable("part"), lane = kernel.NewVariable("lane");
    Expr at = Variable(part) + Variable(lane);
    StmtPtr vector = For(lane, IntConstant(0), IntConstant(lanes), Store(to, at, Load(from, t.dtype, at)),
                         LoopKind::kVectorized);
    return For(part, IntConstant(0), IntConstant(size), std::move(vector), LoopKind::kUnrolled, lanes);
  };
  kernel.body =
      Block({Allocate(tile), Allocate(turned), copy(tile, in, t.columns),
             Transpose(turned, tile, t.rows, t.columns), copy(out, turned, t.rows < 8 ? t.columns : t.rows)});
  return kernel;
}

class TransposedTile : public testing::TestWithParam<Tile> {};

TEST_P(TransposedTile, MovesEveryElement) {
  const Tile t = GetParam();
  const LoopKernel kernel = Transposed(t);
  ASSERT_TRUE(VerifyLoops(kernel)) << VerifyLoops(kernel).error().message;
  const auto bytes = static_cast<size_t>(DTypeBits(t.dtype) / 8);
  const auto count = static_cast<size_t>(t.rows * t.columns);
  std::vector<std::byte> in(count * bytes), wanted(count * bytes);
  for (size_t i = 0; i < count * bytes; ++i)
    in[i] = static_cast<std::byte>(i % bytes == 0 ? i / bytes : 7 * i);
  if (t.dtype == DType::kF16)  // no NaN
    for (size_t i = 1; i < count * bytes; i += 2) in[i] &= std::byte{0x3f};
  for (size_t r = 0; r < static_cast<size_t>(t.rows); ++r)
    for (size_t c = 0; c < static_cast<size_t>(t.columns); ++c)
      std::copy_n(&in[(r * static_cast<size_t>(t.columns) + c) * bytes], bytes,
                  &wanted[(c * static_cast<size_t>(t.rows) + r) * bytes]);
  for (CpuLevel level : LevelsHere()) {
    std::vector<std::byte> out(count * bytes);
    CompiledKernel compiled(kernel, level);
    ASSERT_EQ(compiled.Run({in.data(), out.data()}, [](const ir::SymbolId&) { return 0; }), 0);
    EXPECT_EQ(out, wanted);
    CodegenOptions options;
    options.target = TargetInfoFor(level);
    Expected<std::string> text = PrintLlvm({"transposed", &kernel}, options);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_THAT(*text, testing::Not(testing::HasSubstr("alloca")));
  }
  std::vector<std::byte> out(count * bytes);
  std::vector<std::span<std::byte>> buffers = {in, out};
  auto code = EvaluateLoops(kernel, buffers, [](const ir::SymbolId&) { return 0; });
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(out, wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Tiles, TransposedTile,
    testing::Values(Tile{DType::kF32, 16, 16}, Tile{DType::kF32, 8, 8}, Tile{DType::kF32, 8, 16},
                    Tile{DType::kF32, 16, 4}, Tile{DType::kF32, 2, 16}, Tile{DType::kF32, 3, 8},
                    Tile{DType::kF32, 4, 16}, Tile{DType::kU8, 16, 16}, Tile{DType::kU8, 3, 16},
                    Tile{DType::kU8, 8, 16}, Tile{DType::kF16, 16, 16}, Tile{DType::kI16, 8, 8},
                    Tile{DType::kF64, 8, 8}, Tile{DType::kI64, 4, 4}, Tile{DType::kI64, 2, 4},
                    Tile{DType::kF32, 5, 8}),
    [](const auto& info) {
      return fmt::format("{}_{}x{}", DTypeName(info.param.dtype), info.param.rows, info.param.columns);
    });

TEST(Transpose, WantsTwoTilesInRegisters) {
  LoopKernel kernel = Transposed({DType::kF32, 8, 8});
  kernel.buffers[3].size = 32;
  EXPECT_FALSE(VerifyLoops(kernel));
  kernel = Transposed({DType::kF32, 8, 8});
  kernel.buffers[2].memory = Memory::kLocal;
  EXPECT_FALSE(VerifyLoops(kernel));
}

}  // namespace
}  // namespace tvmvm::codegen
