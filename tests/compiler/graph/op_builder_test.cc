#include "compiler/graph/op_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/core_op.h"

namespace tvmvm::ir {
namespace {

class OpBuilderTest : public ::testing::Test {
 protected:
  OpBuilderTest() {
    module_.functions.emplace_back();
    module_.main().body = module_.main().AddRegion();
    b_.emplace(&module_, &module_.main(), module_.main().body);
  }
  ValueId Input(DType dtype, Dims dims) {
    ValueId value = module_.main().AddValue(Type::Tensor(dtype, std::move(dims)));
    module_.main().region(module_.main().body).parameters.push_back(value);
    return value;
  }
  Dim Symbol(const std::string& name) {
    module_.symbols[SymbolId(name)] = {.scope = SymbolScope::kInput};
    return Dim::Symbol(name);
  }
  ValueId Ints(std::vector<int64_t> values) {
    std::vector<int64_t> dims{static_cast<int64_t>(values.size())};
    return b_->Constant(TensorData::FromVector(DType::kI64, dims, values));
  }
  std::string Elements(ValueId value) {
    if (b_->failed()) return b_->TakeError()->message;
    const auto& elements = module_.main().value(value).elements;
    return elements ? ToString(*elements) : "unknown";
  }
  std::string TypeOf(ValueId value) {
    return b_->failed() ? b_->TakeError()->message : module_.main().type(value).ToString();
  }
  size_t node_count() { return module_.main().region(module_.main().body).nodes.size(); }

  Module module_;
  std::optional<OpBuilder> b_;
};

TEST_F(OpBuilderTest, ElementwiseOperatorsBroadcast) {
  ValueId a = Input(DType::kF32, {Symbol("n"), 1, 8}), c = Input(DType::kF32, {Symbol("m"), 1});
  EXPECT_EQ(TypeOf(b_->Add(a, c)), "tensor<f32,[n,m,8]>");
  EXPECT_EQ(TypeOf(b_->Binary(tensor::ExprOp::kLess, a, a)), "tensor<bool,[n,1,8]>");
  EXPECT_EQ(TypeOf(b_->Add(a, Input(DType::kF32, {3}))),
            "add: shapes [n, 1, 8] and [3] do not broadcast: 8 and 3 differ");
  EXPECT_EQ(TypeOf(b_->Add(a, Input(DType::kI64, {}))),
            "add: operands have element types f32 and i64, wanted one type");
  EXPECT_EQ(TypeOf(b_->Add(Input(DType::kF32, {Symbol("p")}), Input(DType::kF32, {Symbol("q")}))),
            "tensor<f32,[select(eq(p, 1), q, p)]>");
}

TEST_F(OpBuilderTest, DimsOfAnotherRankAreAnErrorThatNamesTheValue) {
  const ValueId x = Input(DType::kF32, {Symbol("n"), 3});
  EXPECT_EQ(ToString(b_->dims(x, 2, "the key")), "[n, 3]");
  EXPECT_FALSE(b_->failed());
  EXPECT_EQ(ToString(b_->dims(x, 4, "the key")), "[1, 1, 1, 1]");
  EXPECT_EQ(b_->TakeError()->message, "the key has rank 2, wanted 4");
  EXPECT_EQ(ToString(b_->dims(x, 0, "the number of keys")), "[]");
  EXPECT_EQ(b_->TakeError()->message, "the number of keys has rank 2, wanted 0");
}

// Sizes made of one another stay small, their ranges known, in as many steps as the limit allows.
TEST_F(OpBuilderTest, SizesOfSizesStaySmall) {
  const Dim m = Symbol("m");
  ValueId value = Input(DType::kF32, {Symbol("n")});
  auto shrink = [&](int step) {
    const Dim size = b_->dim(value, 0);
    value = b_->SliceAxis(value, 0, 0, Max(Min(FloorDiv(size * m + step, 7), 500), Min(size, m)));
  };
  for (int step = 0; step < 100; ++step) {
    shrink(step);
    ASSERT_LE(b_->dim(value, 0).size(), Dim::kMaxPlain);
  }
  ASSERT_FALSE(b_->failed());
  EXPECT_GT(b_->dim(value, 0).depth(), 20);
  EXPECT_EQ(RangeOf(b_->dim(value, 0), module_.Ranges()).low, 14);  // (size * m + 99) / 7
  for (int step = 100; step < 20000 && !b_->failed(); ++step) shrink(step);
  EXPECT_THAT(b_->TakeError()->message, testing::HasSubstr("too large an expression"));
}

TEST_F(OpBuilderTest, ErrorsStick) {
  ValueId a = Input(DType::kF32, {4});
  ValueId poison = b_->Emit("nothing", {a});
  EXPECT_TRUE(b_->failed());
  b_->Add(poison, a);
  EXPECT_EQ(b_->TakeError()->message, "nothing: no core operator with a type rule has this name");
  EXPECT_FALSE(b_->failed());
  EXPECT_EQ(b_->NormalizeAxis(3, 2), 0);
  EXPECT_EQ(b_->TakeError()->message, "axis 3 is out of range for rank 2");
}

// What exporters make of x.view(x.size(0), -1, 4 * 8).
TEST_F(OpBuilderTest, ShapeArithmeticBecomesDims) {
  Dim n = Symbol("n"), m = Symbol("m");
  ValueId shape = b_->DimsTensor({n, m, 32});
  ValueId first = b_->Gather(shape, b_->ScalarInt(DType::kI64, 0), 0);
  ValueId rest = b_->Mul(b_->Gather(shape, b_->ScalarInt(DType::kI64, 1), 0),
                         b_->Gather(shape, b_->ScalarInt(DType::kI64, -1), 0));
  ValueId joined = b_->Concat({b_->Unsqueeze(first, {0}), Ints({-1}),
                               b_->Unsqueeze(b_->Div(rest, b_->ScalarInt(DType::kI64, 8)), {0})},
                              0);
  EXPECT_EQ(Elements(first), "[n]");
  EXPECT_EQ(Elements(rest), "[m*32]");
  EXPECT_EQ(Elements(b_->Div(rest, b_->ScalarInt(DType::kI64, 8))), "[m*4]");
  EXPECT_EQ(Elements(joined), "[n, -1, m*4]");
  ValueId is_minus_one = b_->Binary(tensor::ExprOp::kEqual, joined, b_->ScalarInt(DType::kI64, -1));
  EXPECT_EQ(Elements(is_minus_one), "[0, 1, 0]");
  EXPECT_EQ(Elements(b_->Where(is_minus_one, b_->ScalarInt(DType::kI64, 7), joined)), "[n, 7, m*4]");
  EXPECT_EQ(Elements(b_->Cast(b_->Cast(joined, DType::kI32), DType::kI64)), "[n, -1, m*4]");
  EXPECT_EQ(Elements(b_->Reduce(tensor::ReduceKind::kProduct, shape, {0})), "[m*n*32]");
  EXPECT_EQ(Elements(b_->Reduce(tensor::ReduceKind::kMax, b_->DimsTensor({n, n + 2, 1}), {0})), "[n+2]");
  EXPECT_EQ(Elements(b_->Slice(shape, {2}, {-2}, {2})), "[32, n]");
  EXPECT_EQ(Elements(b_->Binary(tensor::ExprOp::kLess, b_->DimScalar(n), b_->ScalarInt(DType::kI64, 0))),
            "[0]");
  EXPECT_EQ(Elements(b_->Reduce(tensor::ReduceKind::kArgMax, b_->DimsTensor({3, 9, 9}), {0}, true)), "[2]");
  EXPECT_EQ(Elements(b_->Iota(DType::kI32, {3}, 0)), "[0, 1, 2]");
}

TEST_F(OpBuilderTest, KnownResultsBecomeConstants) {
  ValueId sum = b_->Add(Ints({1, 2}), Ints({10, 20}));
  ASSERT_NE(b_->ConstantData(sum), nullptr);
  EXPECT_THAT(*b_->ConstantInts(sum), ::testing::ElementsAre(11, 22));
  // Wrapped results are not taken for dims.
  ValueId wrapped = b_->Mul(b_->Cast(Ints({200}), DType::kU8), b_->Cast(Ints({2}), DType::kU8));
  EXPECT_EQ(Elements(wrapped), "unknown");
  EXPECT_EQ(b_->ConstantScalar(b_->Scalar(DType::kF16, 1.5)), 1.5);
}

TEST_F(OpBuilderTest, UnknownContentsGetSymbolsOnce) {
  ValueId x = Input(DType::kI64, {2});
  Dims dims = b_->ReadDims(x);
  EXPECT_EQ(ToString(dims), "[signed_0, signed_1]");
  EXPECT_EQ(ToString(b_->ReadDims(x)), "[signed_0, signed_1]");
  EXPECT_EQ(node_count(), 1u);
  EXPECT_EQ(Elements(b_->Add(x, Ints({1, 1}))), "[signed_0+1, signed_1+1]");
  b_->ReadDims(Input(DType::kI64, {Symbol("n")}));
  EXPECT_EQ(b_->TakeError()->message,
            "tensor<i64,[n]> where a list of at most 64 integers of known length is wanted");
}

TEST_F(OpBuilderTest, IdentitiesVanish) {
  Dim n = Symbol("n");
  ValueId a = Input(DType::kF32, {n, 1, 4});
  EXPECT_EQ(b_->Reshape(a, {n, 1, 4}), a);
  EXPECT_EQ(b_->Reshape(b_->Reshape(a, {n * 4}), {n, 1, 4}), a);
  EXPECT_EQ(b_->Transpose(a, {0, 1, 2}), a);
  EXPECT_EQ(b_->Transpose(b_->Transpose(a, {2, 0, 1}), {1, 2, 0}), a);
  EXPECT_EQ(b_->Expand(a, {1}), a);
  EXPECT_EQ(b_->Cast(a, DType::kF32), a);
  EXPECT_EQ(b_->Concat({a}, 2), a);
  EXPECT_EQ(b_->Slice(a, {0, 0, 0}, {1, 1, 1}, {n, 1, 4}), a);
  EXPECT_EQ(b_->Pad(a, {}, {0, 0, 0}, {0, 0, 0}), a);
  ValueId moved = b_->Transpose(a, {1, 0, 2});
  EXPECT_EQ(module_.main().node(module_.main().value(moved).producer).op->name, "reshape");
}

TEST_F(OpBuilderTest, BitsOfConstantsAreNoKnownNumbers) {
  for (DType from : {DType::kF32, DType::kU32}) {
    ValueId bits = b_->Emit("bitcast", {b_->Scalar(from, 7)}, {{"to", DType::kI32}});
    EXPECT_EQ(TypeOf(bits), "tensor<i32,[]>");
    EXPECT_THAT(Elements(bits), ::testing::AnyOf("unknown", from == DType::kF32 ? "[1088421888]" : "[7]"));
  }
}

TEST_F(OpBuilderTest, ViewsOfOtherSizesAreLeftToTheRun) {
  Dim n = Symbol("n");
  ValueId a = Input(DType::kF32, {2, 4, 4});
  ValueId view = b_->Reshape(a, {n, 16});
  EXPECT_EQ(TypeOf(b_->Reshape(view, {32})), "tensor<f32,[32]>");
  ValueId other = b_->Reshape(view, {16});  // where n is 1: never
  EXPECT_EQ(TypeOf(other), "tensor<f32,[16]>");
  EXPECT_EQ(module_.main().node(module_.main().value(other).producer).inputs[0], view);
}

TEST_F(OpBuilderTest, MatMulFollowsNumpy) {
  Dim n = Symbol("n");
  ValueId a = Input(DType::kF32, {n, 3, 4}), w = Input(DType::kF32, {4, 5}), v = Input(DType::kF32, {4}),
          c = Input(DType::kF32, {2, 1, 4, 6});
  EXPECT_EQ(TypeOf(b_->MatMul(a, w)), "tensor<f32,[n,3,5]>");
  EXPECT_EQ(TypeOf(b_->MatMul(a, v)), "tensor<f32,[n,3]>");
  EXPECT_EQ(TypeOf(b_->MatMul(v, w)), "tensor<f32,[5]>");
  EXPECT_EQ(TypeOf(b_->MatMul(v, v)), "tensor<f32,[]>");
  EXPECT_EQ(TypeOf(b_->MatMul(a, c)), "tensor<f32,[2,n,3,6]>");
  EXPECT_FALSE(b_->failed());
  b_->MatMul(w, w);
  EXPECT_TRUE(b_->failed());
}

}  // namespace
}  // namespace tvmvm::ir
