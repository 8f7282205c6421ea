#include "vm/forecast/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tvmvm {
namespace {

// Whatever values stand in for the intervals, the result has theirs.
TEST(Interval, HoldsWhatEveryValueGives) {
  std::mt19937_64 random(1);
  auto some = [&]() -> int64_t {
    constexpr int64_t kEdges[] = {0, 1, -1, 7, 64, INT64_MAX, INT64_MIN, INT64_MAX - 1};
    return random() % 3 == 0 ? kEdges[random() % std::size(kEdges)]
                             : static_cast<int64_t>(random() % 41) - 20;
  };
  const DimOp ops[] = {DimOp::kAdd,      DimOp::kSub,       DimOp::kMul, DimOp::kFloorDiv, DimOp::kCeilDiv,
                       DimOp::kFloorMod, DimOp::kMin,       DimOp::kMax, DimOp::kEqual,    DimOp::kNotEqual,
                       DimOp::kLess,     DimOp::kLessEqual, DimOp::kAnd, DimOp::kOr,       DimOp::kNot};
  for (int round = 0; round < 200'000; ++round) {
    const DimOp op = ops[random() % std::size(ops)];
    int64_t v[2][3];
    for (auto& operand : v) {
      for (int64_t& value : operand) value = some();
      std::sort(std::begin(operand), std::end(operand));
    }
    const forecast::Interval a{v[0][0], v[0][2]}, b{v[1][0], v[1][2]};
    int64_t result = 0;
    if (!Compute(op, v[0][1], v[1][1], &result)) continue;
    const std::optional<forecast::Interval> computed = forecast::Compute(op, a, b);
    ASSERT_TRUE(computed);
    ASSERT_TRUE(computed->low <= result && result <= computed->high)
        << static_cast<int>(op) << " of [" << a.low << ", " << a.high << "] and [" << b.low << ", " << b.high
        << "]: " << v[0][1] << ", " << v[1][1] << " give " << result << ", not in [" << computed->low << ", "
        << computed->high << "]";
  }
}

}  // namespace
}  // namespace tvmvm
