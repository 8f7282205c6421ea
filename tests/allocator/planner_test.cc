#include "allocator/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace tvmvm {
namespace {

using ::testing::ElementsAre;

PlanSpec Spec(std::vector<PlanSpec::Interval> values) { return PlanSpec{std::move(values)}; }

// By definition, position after position.
int64_t BruteForceLowerBound(const PlanSpec& spec, const std::vector<int64_t>& sizes) {
  uint32_t end = 0;
  for (const auto& value : spec.values) end = std::max(end, value.last);
  int64_t bound = 0;
  for (uint32_t at = 0; at <= end; ++at) {
    int64_t live = 0;
    for (size_t k = 0; k < sizes.size(); ++k)
      if (spec.values[k].first <= at && at <= spec.values[k].last) live += sizes[k];
    bound = std::max(bound, live);
  }
  return bound;
}

void ExpectValid(const PlanSpec& spec, const std::vector<int64_t>& sizes, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), spec.values.size());
  for (size_t a = 0; a < sizes.size(); ++a) {
    EXPECT_GE(plan.offsets[a], 0);
    EXPECT_EQ(plan.offsets[a] % spec.values[a].alignment, 0);
    EXPECT_LE(plan.offsets[a] + sizes[a], plan.total_bytes);
    if (sizes[a] == 0) {
      EXPECT_EQ(plan.offsets[a], 0);
    }
    for (size_t b = a + 1; b < sizes.size(); ++b) {
      const bool together =
          spec.values[a].first <= spec.values[b].last && spec.values[b].first <= spec.values[a].last;
      const bool overlap =
          plan.offsets[a] < plan.offsets[b] + sizes[b] && plan.offsets[b] < plan.offsets[a] + sizes[a];
      if (together && sizes[a] > 0 && sizes[b] > 0) {
        EXPECT_FALSE(overlap) << "values " << a << " and " << b;
      }
    }
  }
}

TEST(Planner, NothingNeedsNothing) {
  MemoryPlan plan = PlanMemory(Spec({}), {});
  EXPECT_EQ(plan.total_bytes, 0);
  EXPECT_EQ(plan.lower_bound, 0);
  EXPECT_TRUE(plan.offsets.empty());
}

TEST(Planner, AChainNeedsTwoPlaces) {
  PlanSpec spec = Spec({{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  std::vector<int64_t> sizes(4, 1024);
  MemoryPlan plan = PlanMemory(spec, sizes);
  ExpectValid(spec, sizes, plan);
  EXPECT_EQ(plan.total_bytes, 2048);
  EXPECT_EQ(plan.lower_bound, 2048);
}

TEST(Planner, BothEndsOfALifetimeCount) {
  MemoryPlan plan = PlanMemory(Spec({{0, 2}, {2, 3}}), std::vector<int64_t>{64, 64});
  EXPECT_EQ(plan.total_bytes, 128);
  plan = PlanMemory(Spec({{0, 1}, {2, 3}}), std::vector<int64_t>{64, 64});
  EXPECT_EQ(plan.total_bytes, 64);
}

TEST(Planner, TakesTheSmallestGapThatFits) {
  // Two gaps are free for the last value: 256 bytes and 128 bytes.
  PlanSpec spec = Spec({{0, 9}, {0, 0}, {0, 9}, {0, 0}, {0, 9}, {5, 6}});
  std::vector<int64_t> sizes = {1024, 256, 512, 128, 320, 128};
  MemoryPlan plan = PlanMemory(spec, sizes);
  ExpectValid(spec, sizes, plan);
  EXPECT_EQ(plan.total_bytes, plan.lower_bound);
}

TEST(Planner, KeepsAlignments) {
  PlanSpec spec = Spec({{0, 1, 64}, {0, 1, 4096}, {0, 1, 1}});
  std::vector<int64_t> sizes = {100, 100, 3};
  ExpectValid(spec, sizes, PlanMemory(spec, sizes));
}

TEST(Planner, ValuesOfSizeZeroTakeNoPlace) {
  PlanSpec spec = Spec({{0, 5}, {0, 5}, {0, 5}});
  MemoryPlan plan = PlanMemory(spec, std::vector<int64_t>{0, 640, 0});
  EXPECT_THAT(plan.offsets, ElementsAre(0, 0, 0));
  EXPECT_EQ(plan.total_bytes, 640);
}

TEST(Planner, HugeSizesGiveAHugeTotal) {
  PlanSpec spec = Spec({{0, 1}, {0, 1}, {0, 1}});
  MemoryPlan plan = PlanMemory(spec, std::vector<int64_t>(3, INT64_MAX));
  EXPECT_GE(plan.total_bytes, INT64_MAX / 8);
  EXPECT_GE(plan.lower_bound, INT64_MAX / 8);
}

struct Random {
  std::mt19937 engine;
  uint32_t Below(uint32_t end) { return std::uniform_int_distribution<uint32_t>(0, end - 1)(engine); }
};

TEST(Planner, RandomPlansAreValidAndNearTheBound) {
  double worst = 1, sum = 0;
  constexpr int kPlans = 300;
  for (int seed = 0; seed < kPlans; ++seed) {
    Random random{std::mt19937(seed)};
    PlanSpec spec;
    std::vector<int64_t> sizes;
    const uint32_t count = 1 + random.Below(60);
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t first = random.Below(count);
      const uint32_t alignment = 1u << random.Below(9);
      spec.values.push_back({first, first + random.Below(8), alignment});
      sizes.push_back(random.Below(10) == 0 ? 0 : 1 + random.Below(100'000));
    }
    MemoryPlan plan = PlanMemory(spec, sizes);
    ExpectValid(spec, sizes, plan);
    ASSERT_EQ(plan.lower_bound, BruteForceLowerBound(spec, sizes)) << "seed " << seed;
    ASSERT_GE(plan.total_bytes, plan.lower_bound);
    if (plan.lower_bound == 0) continue;
    const double ratio = static_cast<double>(plan.total_bytes) / static_cast<double>(plan.lower_bound);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LT(worst, 1.35);
  EXPECT_LT(sum / kPlans, 1.06);
}

TEST(Planner, IsAFunctionOfItsArguments) {
  Random random{std::mt19937(7)};
  PlanSpec spec;
  std::vector<int64_t> sizes;
  for (uint32_t k = 0; k < 50; ++k) {
    spec.values.push_back({k, k + random.Below(6)});
    sizes.push_back(random.Below(1000));
  }
  EXPECT_EQ(PlanMemory(spec, sizes).offsets, PlanMemory(spec, sizes).offsets);
}

}  // namespace
}  // namespace tvmvm
