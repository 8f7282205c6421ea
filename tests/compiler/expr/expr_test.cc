#include "compiler/expr/expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/expr/approximate.h"
#include "compiler/expr/rewrite.h"
#include "compiler/expr/scalar_math.h"

namespace tvmvm::tensor {
namespace {

ir::Dim N() { return ir::Dim::Symbol("n"); }
Expr F(VariableId id) { return Variable(id, DType::kF32); }

TEST(Expr, FoldsIntegersInTheirWidth) {
  EXPECT_EQ(ToString(IntConstant(200, DType::kI8)), "-56:i8");
  EXPECT_EQ(ToString(IntConstant(100, DType::kI8) + IntConstant(100, DType::kI8)), "-56:i8");
  EXPECT_EQ(ToString(IntConstant(7, DType::kI4) + IntConstant(1, DType::kI4)), "-8:i4");
  EXPECT_EQ(ToString(FloorDiv(IntConstant(-7), IntConstant(2))), "-4");
  EXPECT_EQ(ToString(IntConstant(-7) / IntConstant(2)), "-3");
  EXPECT_EQ(ToString(FloorMod(IntConstant(-7), IntConstant(2))), "1");
  EXPECT_EQ(ToString(Binary(ExprOp::kRemainder, IntConstant(-7), IntConstant(2))), "-1");
  EXPECT_TRUE(IsIntConstant(Less(IntConstant(-1, DType::kU8), IntConstant(1, DType::kU8)), 0));
}

TEST(Expr, FoldsFloatsWithOneRoundingInTheirType) {
  EXPECT_EQ(FloatConstant(0.1, DType::kF32)->number, static_cast<double>(0.1f));
  EXPECT_EQ((FloatConstant(1e8) + FloatConstant(1))->number, 1e8);
  EXPECT_EQ(FloatConstant(1.0 / 3, DType::kF16)->number, 0.333251953125);
  EXPECT_EQ(Cast(DType::kF8E4M3FN, FloatConstant(1e6))->number, 448);
  EXPECT_TRUE(std::isnan(Cast(DType::kF8E4M3FN, FloatConstant(1e6), false)->number));
  EXPECT_EQ(Cast(DType::kI8, FloatConstant(1e6))->integer, 127);
  EXPECT_EQ(Cast(DType::kI8, FloatConstant(NAN))->integer, 0);
}

TEST(Expr, LeavesApproximatedFunctionsAlone) {
  EXPECT_EQ(Unary(ExprOp::kExp, FloatConstant(1)).op(), ExprOp::kExp);
  EXPECT_EQ(Binary(ExprOp::kPow, FloatConstant(2), FloatConstant(3)).op(), ExprOp::kPow);
}

TEST(Expr, SimplifiesOnlyWhatIsExact) {
  Expr x = F(1);
  EXPECT_TRUE(Same(x * FloatConstant(1), x));
  EXPECT_FALSE(Same(x + FloatConstant(0), x));  // -0 + 0 is 0
  EXPECT_TRUE(Same(x + FloatConstant(-0.0), x));
  EXPECT_FALSE(IsConstant(x * FloatConstant(0)));  // NaN
  EXPECT_FALSE(IsConstant(x - x));
  Expr i = Variable(2);
  EXPECT_TRUE(IsIntConstant(i - i, 0));
  EXPECT_EQ(ToString((i + IntConstant(3)) - IntConstant(5)), "(v2 + -2)");
  EXPECT_EQ(ToString(IntConstant(3) * i * IntConstant(4)), "(v2 * 12)");
  EXPECT_TRUE(Same(Select(BoolConstant(true), i, IntConstant(7)), i));
  EXPECT_TRUE(Same(Unary(ExprOp::kNot, Less(i, IntConstant(3))), LessEqual(IntConstant(3), i)));
  EXPECT_EQ(Unary(ExprOp::kNot, Less(x, FloatConstant(3))).op(), ExprOp::kNot);  // NaN is neither
}

TEST(Expr, ArithmeticOnDimsGivesOneDim) {
  Expr n = DimValue(N());
  EXPECT_EQ(ToString(n * IntConstant(4) + n), "${" + (N() * ir::Dim(5)).ToString() + "}");
  EXPECT_TRUE(IsIntConstant(n - n, 0));
  EXPECT_EQ((n / IntConstant(2)).op(), ExprOp::kDim);
  Expr clamped = Select(Less(n, IntConstant(8)), n, IntConstant(8));
  EXPECT_EQ(clamped.op(), ExprOp::kDim);
  EXPECT_EQ(ir::Evaluate(clamped->dim, [](const ir::SymbolId&) { return 20; }), 8);
  EXPECT_EQ(ir::Evaluate(clamped->dim, [](const ir::SymbolId&) { return 3; }), 3);
  EXPECT_EQ(Cast(DType::kI64, Less(n, IntConstant(8))).op(), ExprOp::kDim);
  EXPECT_EQ(FloorDiv(n, IntConstant(0)).op(), ExprOp::kFloorDiv);
}

TEST(Expr, RampsStayAffine) {
  Expr lane = Ramp(Variable(1), IntConstant(1), 8);
  EXPECT_EQ(ToString(lane * IntConstant(3) + Variable(2)), "ramp(((v1 * 3) + v2), 3, 8)");
  EXPECT_EQ(ToString(lane - lane), "x8(0)");
  EXPECT_EQ((lane * lane).op(), ExprOp::kMul);
  Expr uniform = Broadcast(F(1), 8) + FloatConstant(2);
  EXPECT_EQ(uniform.op(), ExprOp::kBroadcast);
}

TEST(Expr, OrderOfKnownRampsIsDecidedWhereAllLanesAgree) {
  auto ramp = [](int64_t first, int64_t step) { return Ramp(IntConstant(first), IntConstant(step), 8); };
  auto eight = [](int64_t value) { return Broadcast(IntConstant(value), 8); };
  const Expr all = Broadcast(BoolConstant(true), 8), none = Broadcast(BoolConstant(false), 8);
  EXPECT_TRUE(Same(Less(ramp(0, 1), eight(8)), all));
  EXPECT_TRUE(Same(Less(ramp(8, 1), eight(8)), none));
  EXPECT_TRUE(Same(LessEqual(eight(3), ramp(10, -1)), all));
  EXPECT_TRUE(Same(Less(ramp(0, 2), ramp(1, 3)), all));
  EXPECT_EQ(Less(ramp(0, 1), eight(7)).op(), ExprOp::kLess);
  EXPECT_EQ(Less(ramp(0, 2), ramp(3, 1)).op(), ExprOp::kLess);
  EXPECT_EQ(Less(ramp(INT64_MAX - 3, 1), eight(0)).op(), ExprOp::kLess);  // goes round
}

TEST(Expr, FunctionsOfWhatBecomesTheSameInAllLanesAreExpanded) {
  const Expr x = Load(0, DType::kF32, Ramp(IntConstant(0), IntConstant(1), 8));
  const Expr one = Binary(ExprOp::kPow, x, Broadcast(FloatConstant(0), 8));
  for (const ExprOp function : {ExprOp::kAtan, ExprOp::kTanh, ExprOp::kExp})
    for (const bool has_scale : {false, true})
      VisitOnce(ExpandMath(Unary(function, one), {has_scale}),
                [](const Expr& e) { EXPECT_FALSE(IsApproximated(e.op())) << ToString(e); });
}

TEST(Expr, LoadsOfOneElementBroadcast) {
  EXPECT_EQ(ToString(Load(0, DType::kF32, Broadcast(Variable(1), 4))), "x4(b0[v1])");
  Expr mask = Less(Ramp(IntConstant(0), IntConstant(1), 4), DimValue(N()));
  EXPECT_EQ(Load(0, DType::kF32, Variable(1), mask).op(), ExprOp::kSelect);
}

TEST(Expr, SameAndSubstituteFollowSharedNodesOnce) {
  Expr deep = F(1), other = F(1);
  for (int i = 0; i < 200; ++i) deep = deep * deep, other = other * other;  // 2^200 paths
  EXPECT_TRUE(Same(deep, other));
  std::pair<VariableId, Expr> replacement{1, F(2)};
  EXPECT_FALSE(Same(Substitute(deep, {&replacement, 1}), deep));
  EXPECT_LT(ToString(deep).size(), 20000u);
}

TEST(Expr, TextOfEveryForm) {
  Expr x = F(1);
  EXPECT_EQ(ToString(Fma(x, x, FloatConstant(0.1))), "fma(v1, v1, 0.1:f32)");
  EXPECT_EQ(ToString(Cast(DType::kF16, x)), "f16(v1)");
  EXPECT_EQ(ToString(Bitcast(DType::kU32, x)), "bits.u32(v1)");
  EXPECT_EQ(ToString(Element(2, DType::kI8, {Variable(1), IntConstant(0)})), "in2.i8[v1, 0]");
  EXPECT_EQ(ToString(Load(3, DType::kF32, Variable(1), BoolConstant(false))), "b3[v1 if false]");
  Reduction sum{
      .kind = ReduceKind::kSum, .accumulator = DType::kF32, .axes = {4}, .extents = {DimValue(N())}};
  EXPECT_EQ(ToString(Reduce(sum, x, DType::kF32)), "sum.f32[v4 < ${n}](v1)");
}

}  // namespace
}  // namespace tvmvm::tensor
