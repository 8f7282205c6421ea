#include "compiler/graph/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/graph/core_op.h"
#include "compiler/graph/op_builder.h"

namespace tvmvm::ir {
namespace {

// Builds a function of symbolic inputs, then evaluates it on data.
class EvaluateTest : public ::testing::Test {
 protected:
  EvaluateTest() {
    module_.functions.emplace_back();
    module_.main().body = module_.main().AddRegion();
    b_.emplace(&module_, &module_.main(), module_.main().body);
  }
  Region& body() { return module_.main().region(module_.main().body); }
  ValueId Input(DType dtype, Dims dims) {
    ValueId value = module_.main().AddValue(Type::Tensor(dtype, std::move(dims)));
    body().parameters.push_back(value);
    return value;
  }
  static TensorData F32(std::vector<int64_t> dims, const std::vector<float>& values) {
    return TensorData::FromVector(DType::kF32, std::move(dims), values);
  }
  static TensorData I64(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
    return TensorData::FromVector(DType::kI64, std::move(dims), values);
  }
  static TensorData Counting(std::vector<int64_t> dims) {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
    return F32(std::move(dims), values);
  }
  template <class T>
  std::vector<T> Run(ValueId result, std::vector<TensorData> inputs) {
    if (b_->failed()) {
      ADD_FAILURE() << b_->TakeError()->message;
      return {};
    }
    body().results = {result};
    auto outputs = EvaluateFunction(module_.main(), inputs);
    if (!outputs) {
      ADD_FAILURE() << outputs.error().message;
      return {};
    }
    dims_ = outputs->front().dims;
    std::vector<T> values(static_cast<size_t>(outputs->front().element_count()));
    std::memcpy(values.data(), outputs->front().bytes.data(), values.size() * sizeof(T));
    return values;
  }

  Module module_;
  std::optional<OpBuilder> b_;
  std::vector<int64_t> dims_;
  const Dim n_ = Dim::Symbol("n"), m_ = Dim::Symbol("m");
};

using ::testing::ElementsAre;

TEST_F(EvaluateTest, BroadcastsAtRunTime) {
  ValueId a = Input(DType::kF32, {n_, 1}), c = Input(DType::kF32, {m_});
  EXPECT_THAT(Run<float>(b_->Add(a, c), {Counting({2, 1}), F32({3}, {10, 20, 30})}),
              ElementsAre(10, 20, 30, 11, 21, 31));
  ValueId d = Input(DType::kF32, {Dim::Symbol("p")});
  ValueId sum = b_->Add(c, d);
  EXPECT_THAT(Run<float>(sum, {Counting({1, 1}), F32({1}, {5}), Counting({3})}), ElementsAre(5, 6, 7));
  EXPECT_THAT(Run<float>(sum, {Counting({1, 1}), Counting({3}), F32({1}, {5})}), ElementsAre(5, 6, 7));
}

TEST_F(EvaluateTest, DivisionNeverTraps) {
  ValueId a = Input(DType::kI64, {n_}), c = Input(DType::kI64, {n_});
  TensorData x = I64({4}, {7, -7, INT64_MIN, 5}), y = I64({4}, {2, 2, -1, 0});
  EXPECT_THAT(Run<int64_t>(b_->Div(a, c), {x, y}), ElementsAre(3, -3, INT64_MIN, 0));
  EXPECT_THAT(Run<int64_t>(b_->Binary(tensor::ExprOp::kFloorDiv, a, c), {x, y}),
              ElementsAre(3, -4, INT64_MIN, 0));
  EXPECT_THAT(Run<int64_t>(b_->Binary(tensor::ExprOp::kFloorMod, a, c), {x, y}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(Run<int64_t>(b_->Binary(tensor::ExprOp::kRemainder, a, c), {x, y}), ElementsAre(1, -1, 0, 0));
}

TEST_F(EvaluateTest, MovementsMove) {
  ValueId x = Input(DType::kF32, {n_, m_});
  TensorData data = Counting({2, 3});
  EXPECT_THAT(Run<float>(b_->Transpose(x, {1, 0}), {data}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(Run<float>(b_->Slice(x, {0, m_ - 1}, {1, -2}, {n_, CeilDiv(m_, 2)}), {data}),
              ElementsAre(2, 0, 5, 3));
  EXPECT_THAT(Run<float>(b_->Concat({x, x}, 1), {data}), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  EXPECT_THAT(Run<float>(b_->Concat({x, x}, 0), {Counting({1, 2})}), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(Run<float>(b_->Expand(x, {2, n_, m_}), {Counting({1, 2})}), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(dims_, ElementsAre(2, 1, 2));
}

TEST_F(EvaluateTest, PaddingFollowsItsMode) {
  ValueId x = Input(DType::kF32, {n_});
  TensorData data = Counting({3});
  EXPECT_THAT(Run<float>(b_->Pad(x, b_->Scalar(DType::kF32, 9), {2}, {1}), {data}),
              ElementsAre(9, 9, 0, 1, 2, 9));
  EXPECT_THAT(Run<float>(b_->Pad(x, {}, {3}, {2}, "reflect"), {data}), ElementsAre(1, 2, 1, 0, 1, 2, 1, 0));
  EXPECT_THAT(Run<float>(b_->Pad(x, {}, {2}, {1}, "reflect"), {data}), ElementsAre(2, 1, 0, 1, 2, 1));
  EXPECT_THAT(Run<float>(b_->Pad(x, {}, {3}, {2}, "wrap"), {data}), ElementsAre(0, 1, 2, 0, 1, 2, 0, 1));
  EXPECT_THAT(Run<float>(b_->Pad(x, {}, {-1}, {2}, "reflect"), {data}), ElementsAre(1, 2, 1, 0));
  EXPECT_THAT(Run<float>(b_->Pad(x, {}, {2}, {1}, "edge"), {data}), ElementsAre(0, 0, 0, 1, 2, 2));
  EXPECT_THAT(Run<float>(b_->Pad(x, {}, {2}, {4}, "wrap"), {data}), ElementsAre(1, 2, 0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(Run<float>(b_->Pad(x, {}, {-1}, {1}), {data}), ElementsAre(1, 2, 0));
}

TEST_F(EvaluateTest, GathersWrapAndClamp) {
  ValueId x = Input(DType::kF32, {n_, 2}), i = Input(DType::kI64, {m_});
  TensorData data = Counting({3, 2}), at = I64({3}, {-1, 0, 7});
  EXPECT_THAT(Run<float>(b_->Gather(x, i, 0), {data, at}), ElementsAre(4, 5, 0, 1, 4, 5));
  EXPECT_THAT(Run<float>(b_->Gather(x, i, 0), {Counting({0, 2}), I64({1}, {0})}), ElementsAre(0, 0));
  ValueId e = b_->Emit("gather_elements", {x, b_->Reshape(i, {m_, 1})}, {{"axis", int64_t{1}}});
  EXPECT_THAT(Run<float>(e, {data, I64({3}, {1, 0, -1})}), ElementsAre(1, 2, 5));
  ValueId nd = b_->Emit("gather_nd", {x, b_->Reshape(i, {FloorDiv(m_, 2), 2})}, {{"batch_dims", int64_t{0}}});
  EXPECT_THAT(Run<float>(nd, {data, I64({4}, {2, 1, -3, 0})}), ElementsAre(5, 0));
}

TEST_F(EvaluateTest, ReductionsKeepTheRank) {
  using tensor::ReduceKind;
  ValueId x = Input(DType::kF32, {n_, m_});
  TensorData data = F32({2, 3}, {1, 5, 5, 7, 2, -1});
  EXPECT_THAT(Run<float>(b_->Reduce(ReduceKind::kSum, x, {1}), {data}), ElementsAre(11, 8));
  EXPECT_THAT(Run<float>(b_->Reduce(ReduceKind::kMax, x, {0, 1}), {data}), ElementsAre(7));
  EXPECT_THAT(Run<float>(b_->Reduce(ReduceKind::kMin, x, {0}), {data}), ElementsAre(1, 2, -1));
  EXPECT_THAT(Run<int64_t>(b_->Reduce(ReduceKind::kArgMax, x, {1}), {data}), ElementsAre(1, 0));
  EXPECT_THAT(Run<int64_t>(b_->Reduce(ReduceKind::kArgMax, x, {-1}, true), {data}), ElementsAre(2, 0));
  EXPECT_THAT(Run<float>(b_->Reduce(ReduceKind::kProduct, x, {1}), {Counting({2, 0})}), ElementsAre(1, 1));
  EXPECT_THAT(Run<float>(b_->Reduce(ReduceKind::kMax, x, {1}), {Counting({1, 0})}), ElementsAre(-INFINITY));
  // Which axes are reduced may depend on symbols.
  ValueId some = b_->ReduceFlags(ReduceKind::kSum, x, {Equal(n_, 2), 0});
  EXPECT_THAT(Run<float>(some, {data}), ElementsAre(8, 7, 4));
  EXPECT_THAT(Run<float>(some, {Counting({3, 1})}), ElementsAre(0, 1, 2));
}

TEST_F(EvaluateTest, ProductsContract) {
  ValueId a = Input(DType::kF32, {n_, 2, 3}), c = Input(DType::kF32, {3, m_});
  EXPECT_THAT(Run<float>(b_->MatMul(a, c), {Counting({1, 2, 3}), Counting({3, 1})}), ElementsAre(5, 14));
  ValueId d = Input(DType::kF32, {n_, 3, 1});
  EXPECT_THAT(Run<float>(b_->MatMul(a, d), {Counting({2, 2, 3}), Counting({3, 1}), Counting({2, 3, 1})}),
              ElementsAre(5, 14, 86, 122));
}

TEST_F(EvaluateTest, ConvolutionAndPooling) {
  ValueId x = Input(DType::kF32, {1, 1, n_});
  ValueId w = b_->Constant(F32({1, 1, 3}, {1, 10, 100}));
  std::vector<int64_t> one{1};
  ValueId y =
      b_->Emit("conv", {x, w}, {{"strides", one}, {"dilations", one}, {"low", Dims{1}}, {"high", Dims{1}}});
  EXPECT_THAT(Run<float>(y, {F32({1, 1, 4}, {1, 2, 3, 4})}), ElementsAre(210, 321, 432, 43));
  std::vector<int64_t> kernel{1, 1, 2}, strides{1, 1, 2}, ones{1, 1, 1};
  Attributes window{{"kernel", kernel},
                    {"strides", strides},
                    {"dilations", ones},
                    {"low", Dims{0, 0, 1}},
                    {"high", Dims{0, 0, 1}},
                    {"dims", Dims{1, 1, FloorDiv(n_, 2) + 1}},
                    {"kind", std::string("average")}};
  ValueId average = b_->Emit("window", {x}, window);
  EXPECT_THAT(Run<float>(average, {F32({1, 1, 4}, {1, 2, 3, 4})}), ElementsAre(1, 2.5, 4));
  window["kind"] = std::string("max");
  EXPECT_THAT(Run<float>(b_->Emit("window", {x}, window), {F32({1, 1, 4}, {-1, -2, -3, -4})}),
              ElementsAre(-1, -2, -4));
}

// Every pair of shapes of the same number of elements, against the plain row-major meaning.
TEST_F(EvaluateTest, ReshapeKeepsTheOrder) {
  std::vector<std::pair<Dims, Dims>> shapes = {{{n_, 12}, {n_, 3, 4}},
                                               {{n_, 3, 4}, {n_, 12}},
                                               {{n_, 6, m_}, {n_ * 2, 3, m_}},
                                               {{n_ * 6, m_}, {n_, 2, m_ * 3}},
                                               {{n_, m_}, {m_, n_}},
                                               {{n_, m_, 1, 4}, {n_ * m_ * 4}},
                                               {{n_, 4, m_, 6}, {n_, 8, m_ * 3}},
                                               {{n_ * m_}, {1, n_, 1, m_}},
                                               {{n_, 10}, {2, n_ * 5}},
                                               {{6, n_}, {4, FloorDiv(n_ * 6, 4)}}};
  for (const auto& [from, to] : shapes) {
    // As a movement, so that the element expression is what runs.
    CoreOp reshape = GetCoreOp("reshape");
    reshape.kind = OpKind::kMovement;
    Node node;
    node.op = &reshape;
    node.inputs = {ValueId{0}};
    node.attributes["dims"] = to;
    auto value = [](const SymbolId& symbol) -> std::optional<int64_t> {
      return symbol.name() == "n" ? 4 : 6;
    };
    std::vector<int64_t> sizes;
    for (const Dim& dim : from) sizes.push_back(*Evaluate(dim, value));
    TensorData data = Counting(sizes);
    const TensorData* input = &data;
    auto result = EvaluateNode(node, {Type::Tensor(DType::kF32, from)}, {Type::Tensor(DType::kF32, to)},
                               std::span(&input, 1), value);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->front().bytes.size(), data.bytes.size());
    EXPECT_EQ(std::memcmp(result->front().bytes.data(), data.bytes.data(), data.bytes.size()), 0)
        << ToString(from) << " as " << ToString(to);
  }
}

TEST_F(EvaluateTest, ErrorsAreErrors) {
  ValueId x = Input(DType::kF32, {n_});
  body().results = {x};
  std::vector<TensorData> none, wrong{I64({1}, {1})};
  EXPECT_EQ(EvaluateFunction(module_.main(), none).error().message, "0 inputs given, wanted 1");
  EXPECT_EQ(EvaluateFunction(module_.main(), wrong).error().message,
            "an input does not fit parameter tensor<f32,[n]>");
}

}  // namespace
}  // namespace tvmvm::ir
