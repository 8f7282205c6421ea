// Attention against the definitions of its operators, in the forms that exporters write.
#include "compiler/graph/attention_group.h"
#include "compiler/schedules/group.h"
#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;
using Ints = std::vector<int64_t>;

ValueId Contract(GroupBuilder& b, ValueId x, ValueId y, Ints lhs_batch, Ints rhs_batch, Ints lhs_contract,
                 Ints rhs_contract) {
  return b.Add("contract", {x, y},
               {{"lhs_batch", lhs_batch},
                {"rhs_batch", rhs_batch},
                {"lhs_contract", lhs_contract},
                {"rhs_contract", rhs_contract},
                {"dtype", DType::kF32}});
}

ValueId Reduce(GroupBuilder& b, ValueId x, const char* kind) {
  Dims flags(static_cast<size_t>(b.function().type(x).rank()), Dim(0));
  flags.back() = Dim(1);
  return b.Add("reduce", {x}, {{"flags", flags}, {"kind", std::string(kind)}});
}

ValueId Softmax(GroupBuilder& b, ValueId x) {
  ValueId exponential = b.Add("exp", {b.Add("sub", {x, Reduce(b, x, "max")})});
  return b.Add("div", {exponential, Reduce(b, exponential, "sum")});
}

// m queries, n keys.
std::vector<Symbols> Lengths() {
  std::vector<Symbols> cases;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1},
                      {1, 70},
                      {2, 64},
                      {3, 17},
                      {4, 100},
                      {5, 3},
                      {7, 33},
                      {12, 16},
                      {13, 66},
                      {30, 130},
                      {100, 31},
                      {0, 5}})
    cases.push_back({{"m", m}, {"n", n}});
  return cases;
}

void Check(const std::function<void(GroupBuilder&)>& build, const std::vector<Symbols>& cases) {
  GroupBuilder builder;
  build(builder);
  ir::NodeId node = builder.Finish();
  ASSERT_TRUE(TakesAttention(GroupView(builder.function(), node)));
  ScheduledGroup scheduled(builder.function(), node, false);
  for (const Symbols& symbols : cases) {
    std::string text;
    for (const auto& [name, value] : symbols) text += name + "=" + std::to_string(value) + " ";
    SCOPED_TRACE(text);
    scheduled.Check(symbols, 1e-4);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ScheduleAttention, KeysAlongTheDepth) {
  Check(
      [](GroupBuilder& b) {
        ValueId q = b.Input(DType::kF32, {2, M(), 24}), k = b.Input(DType::kF32, {2, N(), 24}),
                v = b.Input(DType::kF32, {2, N(), 32});
        b.Output(Contract(b, Softmax(b, Contract(b, q, k, {0}, {0}, {2}, {2})), v, {0}, {0}, {2}, {1}));
      },
      Lengths());
}

TEST(ScheduleAttention, TransposedKeysScaleAndMask) {
  Check(
      [](GroupBuilder& b) {
        ValueId q = b.Input(DType::kF32, {2, M(), 5}), k = b.Input(DType::kF32, {2, 5, N()}),
                v = b.Input(DType::kF32, {2, N(), 16}), mask = b.Input(DType::kF32, {M(), N()});
        ValueId scores = b.Add("mul", {Contract(b, q, k, {0}, {0}, {2}, {1}), b.Number(0.5f)});
        b.Output(Contract(b, Softmax(b, b.Add("add", {scores, mask})), v, {0}, {0}, {2}, {1}));
      },
      Lengths());
}

TEST(ScheduleAttention, HeadsBehindPositionsAndWidthsOfNoWholePanel) {
  Check(
      [](GroupBuilder& b) {
        ValueId q = b.Input(DType::kF32, {M(), 3, 7}), k = b.Input(DType::kF32, {N(), 3, 7}),
                v = b.Input(DType::kF32, {N(), 3, 10});
        b.Output(Contract(b, Softmax(b, Contract(b, q, k, {1}, {1}, {2}, {2})), v, {0}, {1}, {2}, {0}));
      },
      Lengths());
}

TEST(ScheduleAttention, GroupsOfHeadsAsViews) {
  Check(
      [](GroupBuilder& b) {
        ValueId q = b.Input(DType::kF32, {2, 3, M(), 8}), k = b.Input(DType::kF32, {2, N(), 8}),
                v = b.Input(DType::kF32, {2, N(), 16}), mask = b.Input(DType::kF32, {6, 1, N()});
        ValueId scores = Contract(b, q, k, {0}, {0}, {3}, {2});
        ValueId heads = b.Add("reshape", {scores}, {{"dims", Dims{6, M(), N()}}});
        ValueId weights = Softmax(b, b.Add("add", {heads, mask}));
        ValueId grouped = b.Add("reshape", {weights}, {{"dims", Dims{2, 3, M(), N()}}});
        b.Output(Contract(b, grouped, v, {0}, {0}, {3}, {1}));
      },
      Lengths());
}

// Types cannot tell that a mask is as wide as the scores: it may be repeated, or repeat one score.
TEST(ScheduleAttention, MasksOfAnySize) {
  std::vector<Symbols> cases;
  for (Symbols symbols : Lengths()) {
    symbols.emplace("k", symbols.at("n"));
    cases.push_back(symbols);
    symbols["k"] = 1;
    cases.push_back(symbols);
  }
  Check(
      [](GroupBuilder& b) {
        ValueId q = b.Input(DType::kF32, {2, M(), 8}), k = b.Input(DType::kF32, {2, N(), 8}),
                v = b.Input(DType::kF32, {2, N(), 16}), mask = b.Input(DType::kF32, {M(), K()});
        ValueId scores = b.Add("add", {Contract(b, q, k, {0}, {0}, {2}, {2}), mask});
        b.Output(Contract(b, Softmax(b, scores), v, {0}, {0}, {2}, {1}));
      },
      cases);
}

TEST(ScheduleAttention, GuardsAgainstRowsWithoutKeys) {
  Check(
      [](GroupBuilder& b) {
        ValueId q = b.Input(DType::kF32, {M(), 8}), k = b.Input(DType::kF32, {N(), 8}),
                v = b.Input(DType::kF32, {N(), 16}), allowed = b.Input(DType::kBool, {M(), N()});
        ValueId scores = Contract(b, q, k, {}, {}, {1}, {1});
        ValueId masked = b.Add("where", {allowed, scores, b.Number(-1e9f)});
        ValueId weights = Softmax(b, masked);
        ValueId some = b.Add("less", {b.Number(0), Reduce(b, weights, "sum")});
        b.Output(Contract(b, b.Add("where", {some, weights, b.Number(0)}), v, {}, {}, {1}, {0}));
      },
      Lengths());
}

TEST(ScheduleAttention, ManyKeys) {
  Check(
      [](GroupBuilder& b) {
        ValueId q = b.Input(DType::kF32, {M(), 4}), k = b.Input(DType::kF32, {N(), 4}),
                v = b.Input(DType::kF32, {N(), 16});
        b.Output(Contract(b, Softmax(b, Contract(b, q, k, {}, {}, {1}, {1})), v, {}, {}, {1}, {0}));
      },
      {{{"m", 25}, {"n", 2500}}, {{"m", 3}, {"n", 2500}}});
}

// What looks like it and is not.
bool IsFound(const std::function<ValueId(GroupBuilder&, ValueId scores)>& weights) {
  GroupBuilder b;
  ValueId q = b.Input(DType::kF32, {M(), 8}), k = b.Input(DType::kF32, {M(), 8}),
          v = b.Input(DType::kF32, {M(), 16});
  b.Output(Contract(b, weights(b, Contract(b, q, k, {}, {}, {1}, {1})), v, {}, {}, {1}, {0}));
  ir::NodeId node = b.Finish();
  return TakesAttention(GroupView(b.function(), node));
}

TEST(FindAttention, WantsArithmeticOnRows) {
  EXPECT_TRUE(IsFound([](GroupBuilder& b, ValueId scores) { return Softmax(b, scores); }));
  EXPECT_FALSE(IsFound([](GroupBuilder&, ValueId scores) { return scores; }))
      << "two products are not attention";
  EXPECT_FALSE(IsFound([](GroupBuilder& b, ValueId scores) {
    return b.Add("div",
                 {scores, b.Add("reduce", {scores}, {{"flags", Dims{1, 0}}, {"kind", std::string("sum")}})});
  })) << "a reduction over the queries";
  EXPECT_FALSE(IsFound([](GroupBuilder& b, ValueId scores) {
    return b.Add("mul", {Softmax(b, scores), scores});
  })) << "scores are wanted after exponentials took their place";
}

}  // namespace
}  // namespace tvmvm::tensor
