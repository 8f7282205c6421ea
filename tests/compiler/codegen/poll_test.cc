// Long grid points learn that their run is to end, and do not go on for long.
#include <gtest/gtest.h>

#include "compiler/codegen/llvm/poll_points.h"
#include "compiler/codegen/prepare_kernel.h"
#include "devices/cpu/poll_entry.h"
#include "tests/compiler/codegen/compiled_kernel.h"

namespace tvmvm::codegen {
namespace {

using tensor::Block;
using tensor::DimValue;
using tensor::Expr;
using tensor::For;
using tensor::IntConstant;
using tensor::LoopKernel;
using tensor::VariableId;

// Says from the `asked`-th question on that the run is to end.
struct Stopper final : KernelPoll {
  explicit Stopper(int from)
      : KernelPoll{kWorkBetweenPolls, &TvmvmAskKeepingRegisters, &Answer}, last(from) {}
  static int32_t Answer(KernelPoll* poll) {
    auto& stopper = *static_cast<Stopper*>(poll);
    const bool is_over = ++stopper.asked >= stopper.last;
    stopper.work = is_over ? -1 : kWorkBetweenPolls;
    return is_over ? 1 : 0;
  }
  int last, asked = 0;
};

LoopKernel Empty() {
  LoopKernel kernel;
  kernel.name = "counting";
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  kernel.AddArgument("out", DType::kI64, Access::kReadWrite);
  return kernel;
}

// out[0] += 1
tensor::StmtPtr Count() {
  return tensor::Store(0, IntConstant(0), tensor::Load(0, DType::kI64, IntConstant(0)) + IntConstant(1));
}

// What is counted until the kernel ends, which is given its code.
int64_t CountUntilEnd(const LoopKernel& kernel, std::vector<int64_t> scalars, KernelPoll* poll,
                      int32_t* code) {
  const CompiledKernel compiled(kernel, CpuLevel::kX86_64_V3);
  int64_t count = 0;
  void* buffer = &count;
  const KernelArgs arguments{&buffer, scalars.data(), nullptr, poll};
  *code = compiled.function()(&arguments, 0, 1);
  return count;
}

TEST(Poll, ALongLoopStopsSoon) {
  LoopKernel kernel = Empty();
  const Expr n = DimValue(ir::Dim::Symbol("n"));
  kernel.body = For(kernel.NewVariable("i"), IntConstant(0), n, Count());
  Stopper stopper(3);
  int32_t code = 0;
  const int64_t count = CountUntilEnd(kernel, {int64_t{1} << 50}, &stopper, &code);
  EXPECT_EQ(code, kStopped);
  EXPECT_EQ(stopper.asked, 3);
  EXPECT_GT(count, 0);
  EXPECT_LT(count, 8 * kWorkBetweenPolls);
}

TEST(Poll, ManyShortLoopsStopSoon) {
  for (const int64_t inner : {0, 1, 7, 1000}) {
    LoopKernel kernel = Empty();
    const Expr n = DimValue(ir::Dim::Symbol("n")), m = DimValue(ir::Dim::Symbol("m"));
    kernel.body = For(kernel.NewVariable("i"), IntConstant(0), n,
                      For(kernel.NewVariable("j"), IntConstant(0), m, Count()));
    Stopper stopper(2);
    int32_t code = 0;
    const int64_t count = CountUntilEnd(kernel, {int64_t{1} << 50, inner}, &stopper, &code);
    EXPECT_EQ(code, kStopped);
    EXPECT_EQ(stopper.asked, 2);
    EXPECT_LT(count, 8 * kWorkBetweenPolls) << inner;
  }
}

TEST(Poll, LargeStepsStopSoon) {
  LoopKernel kernel = Empty();
  const Expr n = DimValue(ir::Dim::Symbol("n"));
  kernel.body = For(kernel.NewVariable("i"), IntConstant(0), n, Count(), tensor::LoopKind::kSerial, 1 << 20);
  Stopper stopper(1);
  int32_t code = 0;
  const int64_t count = CountUntilEnd(kernel, {INT64_MAX}, &stopper, &code);
  EXPECT_EQ(code, kStopped);
  EXPECT_LT(count, 4 * kWorkBetweenPolls);
}

TEST(Poll, WhoeverIsNotStoppedCountsThemAll) {
  for (const int64_t n : {0, 1, 1000, 99'999, 1'000'001}) {
    LoopKernel kernel = Empty();
    kernel.body = For(kernel.NewVariable("i"), IntConstant(0), DimValue(ir::Dim::Symbol("n")),
                      Block({Count()}), tensor::LoopKind::kSerial, 3);
    Stopper stopper(1 << 30);
    int32_t code = -1;
    EXPECT_EQ(CountUntilEnd(kernel, {n}, &stopper, &code), (n + 2) / 3);
    EXPECT_EQ(code, 0);
  }
}

// Blocks of a length that is known at run time alone, as rows and long sums have them.
TEST(Poll, BlocksStopSoon) {
  for (int64_t length : {64, 4096, 32768}) {
    LoopKernel kernel = Empty();
    const Expr n = DimValue(ir::Dim::Symbol("n"));
    const VariableId block = kernel.NewVariable("block");
    const Expr begin = tensor::Variable(block);
    kernel.body =
        For(block, IntConstant(0), n,
            For(kernel.NewVariable("i"), begin, tensor::Min(begin + IntConstant(length), n), Count()),
            tensor::LoopKind::kSerial, length);
    Stopper stopper(1);
    int32_t code = 0;
    EXPECT_LT(CountUntilEnd(kernel, {int64_t{1} << 30}, &stopper, &code), 64 * kWorkBetweenPolls) << length;
    EXPECT_EQ(code, kStopped);
  }
}

size_t PollPointsOf(LoopKernel kernel) { return FindPollPoints(PrepareKernel(kernel)).size(); }

TEST(Poll, ShortGridPointsNeverAsk) {
  LoopKernel kernel = Empty();
  const Expr n = DimValue(ir::Dim::Symbol("n"));
  auto loop = [&](const Expr& end) { return For(kernel.NewVariable("i"), IntConstant(0), end, Count()); };
  kernel.body = loop(IntConstant(1000));
  EXPECT_EQ(PollPointsOf(kernel), 0u);
  kernel.body = loop(tensor::Min(IntConstant(16), n - tensor::Variable(kernel.grid[0])));
  EXPECT_EQ(PollPointsOf(kernel), 0u);
  kernel.body = loop(IntConstant(int64_t{1} << 40));
  EXPECT_EQ(PollPointsOf(kernel), 1u);
  kernel.body = loop(n);
  EXPECT_EQ(PollPointsOf(kernel), 1u);
}

// What memory gives no faster than 10 GB/s takes about a millisecond, however few instructions it takes.
TEST(Poll, BlocksOfVectorsCountTheirBytes) {
  constexpr int kLanes = 16;
  LoopKernel kernel;
  kernel.name = "copy";
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  kernel.AddArgument("in", DType::kF32, Access::kRead);
  kernel.AddArgument("out", DType::kF32, Access::kWrite);
  const VariableId i = kernel.NewVariable("i");
  const Expr lanes = tensor::Ramp(tensor::Variable(i), IntConstant(1), kLanes);
  kernel.body =
      For(i, IntConstant(0), DimValue(ir::Dim::Symbol("n")),
          tensor::Store(1, lanes, tensor::Load(0, DType::kF32, lanes)), tensor::LoopKind::kSerial, kLanes);
  const LoopKernel prepared = PrepareKernel(kernel);
  const PollPoints points = FindPollPoints(prepared);
  ASSERT_EQ(points.size(), 1u);
  const int64_t bytes = points.begin()->second.iterations * kLanes * 4 * 2;
  EXPECT_GT(bytes, 1'000'000);
  EXPECT_LT(bytes, 10'000'000);
}

// Loops over `begin` .. `end`, by 16 and then one by one.
void InVectors(LoopKernel& kernel, const Expr& begin, const Expr& end, std::vector<tensor::StmtPtr>* into) {
  const Expr steps = tensor::FloorDiv(end - begin, IntConstant(16)) * IntConstant(16);
  const VariableId whole = kernel.NewVariable("whole");
  into->push_back(tensor::Let(whole, begin + steps));
  into->push_back(
      For(kernel.NewVariable("i"), begin, tensor::Variable(whole), Count(), tensor::LoopKind::kSerial, 16));
  into->push_back(For(kernel.NewVariable("i"), tensor::Variable(whole), end, Count()));
}

// Tiles of 8192 elements at most: whole rows, or a part of one.
LoopKernel Tiles(bool is_cut) {
  using ir::Dim;
  LoopKernel kernel = Empty();
  const Dim w = Dim::Symbol("w"), h = Dim::Symbol("h"), rows = Max(FloorDiv(8192, Max(w, 1)), 1);
  std::vector<tensor::StmtPtr> statements;
  auto let = [&](const char* name, const Expr& value) {
    const VariableId variable = kernel.NewVariable(name);
    statements.push_back(tensor::Let(variable, value));
    return tensor::Variable(variable);
  };
  const Expr x = let("x", tensor::Variable(kernel.grid[0]) * IntConstant(8192));
  const Expr x_end = let("x_end", tensor::Min(x + IntConstant(8192), DimValue(w)));
  const Expr y = let("y", tensor::Variable(kernel.grid[1]) * DimValue(rows));
  const Expr y_end = let("y_end", is_cut ? tensor::Min(y + DimValue(rows), DimValue(h)) : DimValue(h));
  const Expr cut = let("cut", tensor::Max(x, tensor::Min(x_end, IntConstant(3))));
  std::vector<tensor::StmtPtr> row;
  InVectors(kernel, x, cut, &row);
  InVectors(kernel, cut, x_end, &row);
  statements.push_back(For(kernel.NewVariable("row"), y, y_end, Block(row)));
  kernel.body = Block(statements);
  return kernel;
}

TEST(Poll, TilesNeverAsk) {
  EXPECT_EQ(PollPointsOf(Tiles(true)), 0u);
  EXPECT_GT(PollPointsOf(Tiles(false)), 0u);
}

TEST(Poll, EvenPartsNeverAsk) {
  using ir::Dim;
  const Dim n = Dim::Symbol("n");
  auto points = [&](const Dim& parts) {
    LoopKernel kernel = Empty();
    const Expr part = tensor::Variable(kernel.grid[0]);
    const VariableId begin = kernel.NewVariable("begin"), end = kernel.NewVariable("end");
    auto first = [&](const Expr& of) { return tensor::FloorDiv(of * DimValue(n), DimValue(parts)); };
    kernel.body = Block({tensor::Let(begin, first(part)), tensor::Let(end, first(part + IntConstant(1))),
                         For(kernel.NewVariable("i"), IntConstant(0),
                             tensor::Variable(end) - tensor::Variable(begin), Count())});
    return PollPointsOf(kernel);
  };
  EXPECT_EQ(points(Max(CeilDiv(n, 96), 1)), 0u);
  EXPECT_EQ(points(FloorDiv(n + 95, 96) + 1), 0u);
  EXPECT_EQ(points(FloorDiv(n, 96) + 1), 0u);
  EXPECT_GT(points(Max(FloorDiv(n, 96), 1)), 0u);
  EXPECT_GT(points(Max(CeilDiv(n, int64_t{1} << 30), 1)), 0u);
}

}  // namespace
}  // namespace tvmvm::codegen
