#include "compiler/codegen/codegen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bytecode/kernel_abi.h"
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
      ASSERT_EQ(compiled.Run({a.data(), b.data(), out.data()}, [](const ir::SymbolId&) { return 37; }), 0);
      for (int i = 0; i < 37; ++i) ASSERT_EQ(out[i], 102 * i) << i;
      for (int i = 37; i < 40; ++i) ASSERT_EQ(out[i], -1) << i;
    }
  }
}

LoopKernel Empty(const char* name) {
  LoopKernel kernel;
  kernel.name = name;
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  return kernel;
}

// Any part of the flattened grid may be asked for; x runs fastest.
TEST(Codegen, FlatGridIndicesBecomeCoordinates) {
  for (bool symbolic : {false, true}) {
    LoopKernel kernel = Empty("coordinates");
    uint32_t out = kernel.AddArgument("out", DType::kI64, Access::kWrite);
    ir::Dim x = symbolic ? ir::Dim::Symbol("x") : ir::Dim(3),
            y = symbolic ? ir::Dim::Symbol("y") : ir::Dim(4);
    kernel.grid_size[0] = x, kernel.grid_size[1] = y, kernel.grid_size[2] = 2;
    Expr gx = Variable(kernel.grid[0]), gy = Variable(kernel.grid[1]), gz = Variable(kernel.grid[2]);
    Expr flat = (gz * IntConstant(4) + gy) * IntConstant(3) + gx;
    kernel.body = Store(out, flat, gz * IntConstant(100) + gy * IntConstant(10) + gx);
    CompiledKernel compiled(kernel, CpuLevel::kX86_64_V3);
    for (int begin : {0, 1, 5, 11, 12, 23, 24}) {
      std::vector<int64_t> values(24, -1),
          scalars = symbolic ? std::vector<int64_t>{3, 4} : std::vector<int64_t>{};
      void* buffers[] = {values.data()};
      KernelArgs arguments{buffers, scalars.data(), nullptr};
      int end = std::min(24, begin + 9);
      ASSERT_EQ(compiled.function()(&arguments, begin, end), 0);
      for (int i = 0; i < 24; ++i) {
        int64_t expected = i / 12 * 100 + i / 3 % 4 * 10 + i % 3;
        ASSERT_EQ(values[i], i >= begin && i < end ? expected : -1) << begin << " " << i;
      }
    }
  }
}

TEST(Codegen, FailureLeavesTheKernelWithItsCode) {
  LoopKernel kernel = Empty("fail");
  uint32_t index = kernel.AddArgument("index", DType::kI64, Access::kRead);
  kernel.grid_size[0] = 4;
  kernel.error_messages = {"one", "two"};
  Expr value = Load(index, DType::kI64, Variable(kernel.grid[0]));
  kernel.body = If(Less(value, IntConstant(0)), Fail(2));
  CompiledKernel compiled(kernel, CpuLevel::kX86_64_V3);
  int64_t good[] = {1, 2, 3, 4}, bad[] = {1, 2, -3, 4};
  EXPECT_EQ(compiled.Run({good}), 0);
  EXPECT_EQ(compiled.Run({bad}), 2);
}

TEST(Codegen, LocalAndScratchBuffersHoldValues) {
  LoopKernel kernel = Empty("buffers");
  uint32_t out = kernel.AddArgument("out", DType::kF32, Access::kWrite);
  ir::Dim n = ir::Dim::Symbol("n");
  uint32_t local = kernel.AddLocal("local", DType::kF16, Memory::kLocal, 8);
  uint32_t scratch = kernel.AddLocal("scratch", DType::kF32, Memory::kScratch, 0, IntConstant(64));
  kernel.scratch_bytes = n * 4 + 64;
  VariableId i = kernel.NewVariable("i"), j = kernel.NewVariable("j"), k = kernel.NewVariable("k");
  auto number = [](VariableId v) { return Cast(DType::kF32, Variable(v)); };
  kernel.body = Block(
      {Allocate(local), Allocate(scratch),
       For(i, IntConstant(0), IntConstant(8), Store(local, Variable(i), Cast(DType::kF16, number(i)))),
       For(j, IntConstant(0), DimValue(n), Store(scratch, Variable(j), number(j) * FloatConstant(10))),
       For(k, IntConstant(0), DimValue(n),
           Store(out, Variable(k),
                 Load(scratch, DType::kF32, DimValue(n) - IntConstant(1) - Variable(k)) +
                     Cast(DType::kF32, Load(local, DType::kF16, FloorMod(Variable(k), IntConstant(8))))))});
  CompiledKernel compiled(kernel, CpuLevel::kX86_64_V3);
  alignas(64) float scratch_memory[16 + 20];
  float out_memory[20];
  ASSERT_EQ(compiled.Run(
                {out_memory}, [](const ir::SymbolId&) { return 20; }, scratch_memory),
            0);
  for (int x = 0; x < 20; ++x) EXPECT_EQ(out_memory[x], 10 * (19 - x) + x % 8);
}

// Masked gathers and scatters touch the wanted elements only; a masked-off index may point anywhere.
TEST(Codegen, MaskedLanesTouchNothing) {
  for (DType dtype : {DType::kF32, DType::kU8, DType::kI4}) {
    for (int lanes : {1, 16}) {
      LoopKernel kernel = Empty("masked");
      uint32_t in = kernel.AddArgument("in", dtype, Access::kRead),
               out = kernel.AddArgument("out", dtype, Access::kReadWrite);
      kernel.grid_size[0] = 32 / lanes;
      VariableId lane = kernel.NewVariable("lane");
      Expr i = Variable(kernel.grid[0]) * IntConstant(lanes) + Variable(lane);
      Expr is_near = Less(i, IntConstant(16));
      Expr index = Select(is_near, IntConstant(15) - i, i * IntConstant(int64_t{1} << 40));
      Expr value = Select(is_near, Load(in, dtype, index), Constant(dtype, 1));
      kernel.body = For(lane, IntConstant(0), IntConstant(lanes), If(is_near, Store(out, index, value)),
                        LoopKind::kVectorized);
      for (CpuLevel level : LevelsHere()) {
        std::vector<uint8_t> source(64), target(64, 0xee);
        for (size_t k = 0; k < source.size(); ++k) source[k] = static_cast<uint8_t>(k * 37);
        ASSERT_EQ(CompiledKernel(kernel, level).Run({source.data(), target.data()}), 0);
        auto written = static_cast<size_t>(DTypeBytes(dtype, 16));
        for (size_t k = 0; k < target.size(); ++k)
          EXPECT_EQ(target[k], k < written ? source[k] : 0xee) << DTypeName(dtype) << lanes;
      }
    }
  }
}

TEST(Codegen, ReversedLoadsReadBackwards) {
  LoopKernel kernel = Empty("reversed");
  uint32_t in = kernel.AddArgument("in", DType::kI16, Access::kRead),
           out = kernel.AddArgument("out", DType::kI16, Access::kWrite);
  VariableId lane = kernel.NewVariable("lane");
  Expr i = Variable(lane);
  kernel.body = For(lane, IntConstant(0), IntConstant(16),
                    Store(out, i, Load(in, DType::kI16, IntConstant(15) - i)), LoopKind::kVectorized);
  int16_t source[16], target[16];
  for (int k = 0; k < 16; ++k) source[k] = static_cast<int16_t>(k);
  ASSERT_EQ(CompiledKernel(kernel, CpuLevel::kX86_64_V3).Run({source, target}), 0);
  for (int k = 0; k < 16; ++k) EXPECT_EQ(target[k], 15 - k);
}

TEST(Codegen, StoresBelowAByteKeepTheirNeighbours) {
  LoopKernel kernel = Empty("nibble");
  uint32_t out = kernel.AddArgument("out", DType::kU4, Access::kReadWrite);
  kernel.grid_size[0] = 2;
  kernel.body =
      Store(out, Variable(kernel.grid[0]) * IntConstant(2) + IntConstant(1), IntConstant(5, DType::kU4));
  uint8_t memory[] = {0xff, 0x0a};
  ASSERT_EQ(CompiledKernel(kernel, CpuLevel::kX86_64_V3).Run({memory}), 0);
  EXPECT_EQ(memory[0], 0x5f);
  EXPECT_EQ(memory[1], 0x5a);
}

TEST(Codegen, ManyKernelsOnSeveralThreadsMakeOneLibrary) {
  LoopKernel kernel = ScaleAdd(8);
  std::vector<KernelSource> sources;
  for (int i = 0; i < 9; ++i) sources.push_back({fmt::format("k{}", i), &kernel});
  CodegenOptions options;
  options.target = TargetInfoFor(CpuLevel::kX86_64_V3);
  options.threads = 3;
  Expected<std::vector<std::byte>> library = GenerateCpuLibrary(sources, options);
  ASSERT_TRUE(library) << library.error().message;
  std::string bytes(reinterpret_cast<const char*>(library->data()), library->size());
  for (const KernelSource& source : sources)
    EXPECT_THAT(bytes, testing::HasSubstr(std::string(1, '\0') + source.symbol));
}

TEST(Codegen, BuildsForEveryLevel) {
  LoopKernel kernel = ScaleAdd(16);
  KernelSource source{"k", &kernel};
  for (const char* name : {"host", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    Expected<TargetInfo> target = TargetFromName(name);
    ASSERT_TRUE(target) << name;
    CodegenOptions options;
    options.target = *target;
    Expected<std::vector<std::byte>> library = GenerateCpuLibrary({&source, 1}, options);
    EXPECT_TRUE(library) << name << ": " << library.error().message;
  }
}

TEST(Codegen, ErrorsNameWhatIsWrong) {
  EXPECT_THAT(TargetFromName("pentium").error().message, testing::HasSubstr("known: host, x86-64-v3"));
  LoopKernel kernel = Empty("broken");
  kernel.body = Store(3, IntConstant(0), IntConstant(1));
  KernelSource source{"k", &kernel};
  Expected<std::vector<std::byte>> library = GenerateCpuLibrary({&source, 1}, {});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, Code::kInternal);
  EXPECT_THAT(library.error().message, testing::HasSubstr("kernel 'broken'"));
}

}  // namespace
}  // namespace tvmvm::codegen
