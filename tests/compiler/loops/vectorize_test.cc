// What Vectorize and GuardLoads make of loops: as text, and by running the result against the original.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loops/evaluate_loops.h"
#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {
namespace {

using testing::HasSubstr;

// A kernel over f32 `in` and `out` and i64 `at`, whose body is one vector loop of 8 lanes from 8 g.
struct Builder {
  Builder() {
    kernel.name = "test";
    in = kernel.AddArgument("in", DType::kF32, Access::kRead);
    at = kernel.AddArgument("at", DType::kI64, Access::kRead);
    out = kernel.AddArgument("out", DType::kF32, Access::kReadWrite);
    for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
    kernel.grid_size[0] = 3;
    lane = kernel.NewVariable("lane");
    begin = Variable(kernel.grid[0]) * IntConstant(8);
    i = Variable(lane);
    n = DimValue(ir::Dim::Symbol("n"));
    kernel.error_messages = {"failed"};
  }
  LoopKernel With(StmtPtr body) {
    kernel.body = For(lane, begin, begin + IntConstant(8), std::move(body), LoopKind::kVectorized);
    return kernel;
  }
  Expr In(Expr index) { return Load(in, DType::kF32, std::move(index)); }

  LoopKernel kernel;
  uint32_t in, at, out;
  VariableId lane;
  Expr begin, i, n;
};

struct Result {
  int32_t code = 0;
  std::vector<float> out;
  bool operator==(const Result&) const = default;
};

Result Evaluate(const LoopKernel& kernel, bool eager) {
  std::vector<float> in(24);
  std::vector<int64_t> at(24);
  Result result{0, std::vector<float>(24, -5)};
  for (int k = 0; k < 24; ++k) in[k] = static_cast<float>(k * k), at[k] = (k * 7) % 24;
  std::vector<std::span<std::byte>> buffers = {std::as_writable_bytes(std::span(in)),
                                               std::as_writable_bytes(std::span(at)),
                                               std::as_writable_bytes(std::span(result.out))};
  auto code = EvaluateLoops(kernel, buffers, [](const ir::SymbolId&) { return 19; }, {.eager_select = eager});
  EXPECT_TRUE(code) << code.error().message << "\n" << ToString(kernel);
  result.code = code.value_or(-1);
  return result;
}

// Gives the vectorised text, after a check that it computes the same with both sides of selects evaluated.
std::string CheckedText(const LoopKernel& kernel) {
  LoopKernel vectors = Vectorize(GuardLoads(kernel));
  EXPECT_TRUE(VerifyLoops(vectors)) << VerifyLoops(vectors).error().message;
  EXPECT_EQ(Evaluate(vectors, true), Evaluate(kernel, false)) << ToString(vectors);
  return ToString(vectors);
}

TEST(Vectorize, UnitStrideBecomesWide) {
  Builder b;
  EXPECT_THAT(CheckedText(b.With(Store(b.out, b.i, b.In(b.i) * b.In(IntConstant(3))))),
              HasSubstr("out[ramp((g * 8), 1, 8)] = (in[ramp((g * 8), 1, 8)] * x8(in[3]))"));
}

// Which lane it is, whatever the number: also one that is further away than 64 bits hold.
TEST(Vectorize, RampsAreComparedWithOneNumberAs32Bits) {
  for (const int64_t step : {1, 3}) {
    for (const int64_t offset : {int64_t{0}, int64_t{-7}, int64_t{1} << 32, INT64_MIN, INT64_MAX - 30}) {
      for (const bool swaps : {false, true}) {
        Builder b;
        const Expr ramp = b.i * IntConstant(step) + IntConstant(2);
        const Expr number = Load(b.at, DType::kI64, IntConstant(1)) + IntConstant(offset);
        const Expr equal = swaps ? Equal(number, ramp) : Equal(ramp, number);
        EXPECT_THAT(CheckedText(b.With(Store(b.out, b.i, Select(equal, b.In(b.i), FloatConstant(1))))),
                    HasSubstr("(ramp(0:i32, "));
      }
    }
  }
}

TEST(Vectorize, OtherStridesAndLoadedIndicesGather) {
  Builder b;
  Expr reversed = IntConstant(23) - b.i;
  EXPECT_THAT(CheckedText(b.With(Store(b.out, b.i, b.In(reversed)))), HasSubstr(", -1, 8)]"));
  EXPECT_THAT(CheckedText(b.With(Store(b.out, b.i, b.In(Load(b.at, DType::kI64, b.i))))),
              HasSubstr("in[at[ramp("));
  EXPECT_THAT(CheckedText(b.With(Store(b.out, Load(b.at, DType::kI64, b.i), b.In(b.i)))),
              HasSubstr("out[at[ramp("));
}

TEST(Vectorize, ConditionsBecomeMasks) {
  Builder b;
  StmtPtr tail = If(Less(b.i, b.n), Store(b.out, b.i, b.In(b.i)), Store(b.out, b.i, FloatConstant(1)));
  std::string text = CheckedText(b.With(tail));
  EXPECT_THAT(text, HasSubstr("let mask = (ramp((g * 8), 1, 8) < x8(${n}))"));
  EXPECT_THAT(text, HasSubstr("if mask] = in[ramp((g * 8), 1, 8) if mask]"));
}

TEST(Vectorize, UniformConditionsStay) {
  Builder b;
  EXPECT_THAT(CheckedText(b.With(If(Less(b.n, IntConstant(30)), Store(b.out, b.i, b.In(b.i))))),
              HasSubstr("if (${n} < 30) {"));
}

TEST(Vectorize, LetsKeepTheirStride) {
  Builder b;
  VariableId j = b.kernel.NewVariable("j"), x = b.kernel.NewVariable("x");
  StmtPtr body = Block({Let(j, b.i + IntConstant(0) * b.n), Let(x, b.In(Variable(j))),
                        Store(b.out, Variable(j), Variable(x, DType::kF32) + FloatConstant(1))});
  std::string text = CheckedText(b.With(body));
  EXPECT_THAT(text, HasSubstr("out[ramp(base, 1, 8)]"));
}

TEST(Vectorize, BuffersOfTheLoopGetACopyForEachLane) {
  Builder b;
  uint32_t sum = b.kernel.AddLocal("sum", DType::kF32, Memory::kRegisters, 1);
  VariableId k = b.kernel.NewVariable("k");
  Expr zero = IntConstant(0), partial = Load(sum, DType::kF32, zero);
  StmtPtr body = Block({Allocate(sum), Store(sum, zero, FloatConstant(0)),
                        For(k, zero, IntConstant(3),
                            Store(sum, zero, partial + b.In(FloorMod(b.i + Variable(k), IntConstant(24))))),
                        Store(b.out, b.i, partial)});
  EXPECT_THAT(CheckedText(b.With(body)), HasSubstr("registers sum: f32[8]"));
}

TEST(Vectorize, ReductionsOverTheVariableStaySerial) {
  Builder b;
  Expr zero = IntConstant(0), total = Load(b.out, DType::kF32, zero);
  EXPECT_THAT(CheckedText(b.With(Store(b.out, zero, total + b.In(b.i)))), HasSubstr("for lane in"));
  EXPECT_THAT(CheckedText(b.With(Store(b.out, zero, total + FloatConstant(1)))), HasSubstr("for lane in"));
}

TEST(Vectorize, InnerLoopsWithDifferentBoundsStaySerial) {
  Builder b;
  VariableId k = b.kernel.NewVariable("k");
  EXPECT_THAT(CheckedText(b.With(For(k, IntConstant(0), b.i, Store(b.out, b.i, b.In(Variable(k)))))),
              HasSubstr("for lane in"));
}

TEST(Vectorize, FailsWhenAnyLaneFails) {
  Builder b;
  EXPECT_THAT(CheckedText(b.With(If(Less(IntConstant(20), b.i), Fail(1)))), HasSubstr("if lanes.or(mask) {"));
  CheckedText(b.With(If(Less(IntConstant(200), b.i), Fail(1))));
}

TEST(GuardLoads, IndexConditionsMaskTheirLoads) {
  Builder b;
  Expr shifted = b.i - IntConstant(2);
  Expr inside = And(LessEqual(IntConstant(0), shifted), Less(shifted, b.n));
  std::string text = CheckedText(b.With(Store(b.out, b.i, Select(inside, b.In(shifted), FloatConstant(0)))));
  EXPECT_THAT(text, HasSubstr(" if "));
}

TEST(GuardLoads, OtherwiseSideGetsTheOppositeCondition) {
  Builder b;
  Expr value = Select(LessEqual(IntConstant(22), b.i), FloatConstant(3), b.In(b.i + IntConstant(2)));
  CheckedText(b.With(Store(b.out, b.i, value)));
}

TEST(GuardLoads, ConditionsOnDataChooseValuesOnly) {
  Builder b;
  Expr x = b.In(b.i), y = b.In(IntConstant(23) - b.i);
  std::string text = CheckedText(b.With(Store(b.out, b.i, Select(Less(x, y), y, x))));
  EXPECT_THAT(text, testing::Not(HasSubstr(" if ")));
  Expr index =
      Load(b.at, DType::kI64, b.i) * IntConstant(2);  // may leave the buffer: its condition is a guard
  text = CheckedText(b.With(Store(b.out, b.i, Select(Less(index, IntConstant(24)), b.In(index), x))));
  EXPECT_THAT(text, HasSubstr(" if "));
}

TEST(EvaluateLoops, ReportsWhatNoKernelMayDo) {
  Builder b;
  auto message = [&](StmtPtr body) {
    b.kernel.body = std::move(body);
    float in[1] = {}, out[1] = {};
    int64_t at[1] = {};
    std::vector<std::span<std::byte>> buffers = {std::as_writable_bytes(std::span(in)),
                                                 std::as_writable_bytes(std::span(at)),
                                                 std::as_writable_bytes(std::span(out))};
    auto code = EvaluateLoops(b.kernel, buffers, [](const ir::SymbolId& s) {
      return s.name() == "n" ? std::optional<int64_t>(1) : std::nullopt;
    });
    return code ? "" : code.error().message;
  };
  uint32_t local = b.kernel.AddLocal("local", DType::kF32, Memory::kLocal, 2);
  Expr zero = IntConstant(0);
  EXPECT_THAT(message(Store(b.out, IntConstant(1), FloatConstant(0))),
              HasSubstr("store of 'out' at 1, it has 1 elements"));
  EXPECT_THAT(message(Store(b.out, zero, b.In(IntConstant(-1)))), HasSubstr("load of 'in' at -1"));
  EXPECT_THAT(message(Block({Allocate(local), Store(b.out, zero, Load(local, DType::kF32, zero))})),
              HasSubstr("before it is written"));
  EXPECT_THAT(message(Store(b.out, FloorDiv(zero, Load(b.at, DType::kI64, zero)), FloatConstant(0))),
              HasSubstr("division by 0"));
  EXPECT_THAT(message(Store(b.out, DimValue(ir::Dim::Symbol("q")), FloatConstant(0))),
              HasSubstr("no value for q"));
}

}  // namespace
}  // namespace tvmvm::tensor
