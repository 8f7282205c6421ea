#include "compiler/loops/loop_ir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loops/evaluate_loops.h"
#include "compiler/loops/inline_kernel.h"
#include "compiler/loops/loop_blocks.h"

namespace tvmvm::tensor {
namespace {

using testing::HasSubstr;

// out[y, x] = in[y, x] + n, with one row of each y at a time.
LoopKernel Example(const ir::Dim& n = ir::Dim::Symbol("n")) {
  LoopKernel kernel;
  kernel.name = "example";
  ir::Dim rows = ir::Dim::Symbol("rows");
  uint32_t in = kernel.AddArgument("in", DType::kF32, Access::kRead);
  uint32_t out = kernel.AddArgument("out", DType::kF32, Access::kWrite);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  kernel.grid_size[0] = rows;
  VariableId x = kernel.NewVariable("x");
  Expr at = Variable(kernel.grid[0]) * DimValue(n) + Variable(x);
  Expr sum = Load(in, DType::kF32, at) + Cast(DType::kF32, DimValue(n));
  kernel.body = For(x, IntConstant(0), DimValue(n), Store(out, at, sum));
  return kernel;
}

TEST(LoopIr, TextIsReadable) {
  EXPECT_EQ(ToString(Example()),
            "kernel example(in in: f32, out out: f32) grid(g < rows, g.1 < 1, g.2 < 1) {\n"
            "  for x in 0 .. ${n} {\n"
            "    out[((g * ${n}) + x)] = (in[((g * ${n}) + x)] + f32(${n}))\n"
            "  }\n"
            "}\n");
}

TEST(LoopIr, CanonicalTextIgnoresNames) {
  LoopKernel a = Example(), b = Example();
  b.name = "other";
  b.buffers[0].name = "q";
  b.variable_names.back() = "y";
  EXPECT_NE(ToString(a), ToString(b));
  EXPECT_EQ(CanonicalText(a), CanonicalText(b));
}

TEST(LoopIr, CanonicalTextNumbersDims) {
  LoopKernel a = Example(), b = Example();
  ir::Dim n = ir::Dim::Symbol("n"), m = ir::Dim::Symbol("m"), rows = ir::Dim::Symbol("rows");
  a.grid_size[1] = b.grid_size[1] = 2;  // so that the first axis is a scalar
  b.grid_size[0] = m;
  EXPECT_EQ(CanonicalText(a, std::array{n, rows}), CanonicalText(b, std::array{n, m}));
  EXPECT_NE(CanonicalText(a, std::array{n, rows}), CanonicalText(b, std::array{m, n}));
  b.grid_size[0] = 1;  // a number is not a position
  EXPECT_NE(CanonicalText(a, std::array{n, rows}), CanonicalText(b, std::array{n, m}));
}

// How large a grid is that the code asks nothing of does not make it another kernel.
TEST(LoopIr, CanonicalTextKeepsOnlyWhatTheCodeSeesOfTheGrid) {
  LoopKernel a = Example(), b = Example();
  ir::Dim n = ir::Dim::Symbol("n");
  b.grid_size[0] = ir::Dim::Symbol("m") * ir::Dim(3);
  EXPECT_EQ(CanonicalText(a, std::array{n}), CanonicalText(b, std::array{n}));
  b.grid_size[0] = 1;
  EXPECT_NE(CanonicalText(a, std::array{n}), CanonicalText(b, std::array{n}));
}

// Code that holds for what is never negative, or never above a number, does not hold for what may be.
TEST(LoopIr, CanonicalTextTellsRangesOfScalars) {
  ir::Dim n = ir::Dim::Symbol("n"), m = ir::Dim::Symbol("m");
  auto with = [](const ir::Dim& size) { return CanonicalText(Example(size), std::array{size}); };
  EXPECT_EQ(with(m), with(n));
  EXPECT_NE(with(m - ir::Dim(1)), with(m));
  EXPECT_NE(with(Min(m, 512)), with(m));
}

TEST(LoopIr, LaunchScalarsAddGridSizesOnlyWhereNeeded) {
  LoopKernel kernel = Example();
  ASSERT_EQ(ScalarArguments(kernel).size(), 1u);
  EXPECT_EQ(LaunchScalars(kernel).size(), 1u);  // one axis: the flat index is the coordinate
  kernel.grid_size[1] = 4;
  EXPECT_EQ(ir::ToString(LaunchScalars(kernel)), "[n, rows]");
  kernel.grid_size[1] = ir::Dim::Symbol("n");
  kernel.grid_size[2] = 2;
  EXPECT_EQ(ir::ToString(LaunchScalars(kernel)), "[n, rows]");  // n is there already
}

// out[0 .. 10) += 1, rows of 5 in the parts that a call takes of them.
LoopKernel ExampleOfRanges() {
  LoopKernel kernel;
  kernel.name = "ranges";
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  uint32_t out = kernel.AddArgument("out", DType::kI32, Access::kReadWrite);
  Nest nest(&kernel);
  const Range part = BlocksOf(nest, "part", 5, 2);
  Expr row = Variable(nest.Grid(1, "row", 2)), i = Variable(nest.Open("i", part.begin, part.end));
  Expr at = row * IntConstant(5) + i;
  nest.Add(Store(out, at, Load(out, DType::kI32, at) + IntConstant(1, DType::kI32)));
  kernel.body = nest.Finish();
  return kernel;
}

std::vector<int32_t> Evaluated(const LoopKernel& kernel) {
  EXPECT_TRUE(VerifyLoops(kernel).has_value()) << ToString(kernel);
  std::vector<int32_t> out(10);
  std::span<std::byte> bytes = std::as_writable_bytes(std::span(out));
  EXPECT_EQ(EvaluateLoops(kernel, {&bytes, 1}, {}).value(), 0);
  return out;
}

TEST(LoopIr, NeighbouringGridPointsAreTakenTogether) {
  LoopKernel kernel = ExampleOfRanges();
  EXPECT_THAT(ToString(kernel), HasSubstr("grid(gpart..gpart_end < 3, row < 2, "));
  LoopKernel single = kernel;
  single.range_end.reset();
  EXPECT_NE(CanonicalText(kernel), CanonicalText(single));
  EXPECT_THAT(VerifyLoops(single).error().message, HasSubstr("unbound variable"));
  EXPECT_THAT(Evaluated(kernel), testing::Each(1));
}

TEST(LoopIr, RangesAreWholeRowsWithinAnotherKernel) {
  LoopKernel outer;
  outer.name = "outer";
  for (VariableId& axis : outer.grid) axis = outer.NewVariable("g");
  const BufferAt out{outer.AddArgument("out", DType::kI32, Access::kReadWrite), IntConstant(0)};
  outer.body = InlineKernel(ExampleOfRanges(), {&out, 1}, {}, 0, &outer);
  EXPECT_THAT(Evaluated(outer), testing::Each(1));
}

TEST(LoopIr, ConstantExtentSeesSymbolicBegins) {
  VariableId v = 0;
  Expr begin = Variable(5) * IntConstant(8);
  EXPECT_EQ(ConstantExtent(*For(v, begin, begin + IntConstant(8), Block({}))), 8);
  EXPECT_EQ(ConstantExtent(*For(v, IntConstant(1), IntConstant(8), Block({}), LoopKind::kSerial, 3)), 3);
  EXPECT_EQ(ConstantExtent(*For(v, IntConstant(8), IntConstant(1), Block({}))), 0);
  EXPECT_EQ(ConstantExtent(*For(v, IntConstant(0), begin, Block({}))), std::nullopt);
}

std::string Defect(const std::function<void(LoopKernel&)>& damage) {
  LoopKernel kernel = Example();
  damage(kernel);
  Status status = VerifyLoops(kernel);
  return status ? "" : status.error().message;
}

TEST(LoopVerifier, AcceptsTheExample) {
  EXPECT_EQ(Defect([](LoopKernel&) {}), "");
}

TEST(LoopVerifier, NamesEachDefect) {
  auto with_body = [](StmtPtr body) { return Defect([&](LoopKernel& k) { k.body = body; }); };
  Expr zero = IntConstant(0), one = FloatConstant(1);
  EXPECT_THAT(with_body(nullptr), HasSubstr("has no body"));
  EXPECT_THAT(with_body(Store(0, zero, one)), HasSubstr("stores to input 'in'"));
  EXPECT_THAT(with_body(Store(1, Variable(77), one)), HasSubstr("unbound variable"));
  EXPECT_THAT(with_body(Store(9, zero, one)), HasSubstr("before it is declared"));
  EXPECT_THAT(with_body(Store(1, zero, IntConstant(1))), HasSubstr("stores i64 to 'out' of f32"));
  EXPECT_THAT(with_body(Store(1, IntConstant(0, DType::kI32), one)), HasSubstr("not i64"));
  EXPECT_THAT(with_body(Store(1, zero, Load(0, DType::kF64, zero))), HasSubstr("loads f64 from 'in' of f32"));
  EXPECT_THAT(with_body(Store(1, Ramp(zero, IntConstant(1), 4), one)), HasSubstr("1 lanes at 4 indices"));
  EXPECT_THAT(with_body(If(IntConstant(1), Block({}))), HasSubstr("branches on a non-bool"));
  EXPECT_THAT(with_body(For(9, zero, Variable(0), Block({}), LoopKind::kUnrolled)),
              HasSubstr("without a constant extent"));
  EXPECT_THAT(with_body(Fail(1)), HasSubstr("no message"));
  EXPECT_THAT(Defect([](LoopKernel& k) {
                k.range_end = k.NewVariable("end");
                k.group_size[0] = 64;
              }),
              HasSubstr("has ranges of work-groups"));
  EXPECT_THAT(with_body(Allocate(0)), HasSubstr("not local"));
  EXPECT_THAT(Defect([](LoopKernel& k) { k.AddLocal("big", DType::kF64, Memory::kLocal, 200'000); }),
              HasSubstr("bytes of stack"));
  Expr f8 = Variable(8, DType::kF8E5M2);
  EXPECT_THAT(with_body(Block({Let(8, FloatConstant(1, DType::kF8E5M2)), Let(9, f8 + f8)})),
              HasSubstr("computes in f8e5m2"));
  EXPECT_THAT(with_body(Block({For(8, zero, zero, Block({})), Let(9, Variable(8))})),
              HasSubstr("unbound variable"));
}

}  // namespace
}  // namespace tvmvm::tensor
