#include "allocator/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/allocator/hard_plans.h"
#include "tests/count_instructions.h"
#include "tests/folders.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

using ::testing::ElementsAre;

PlanSpec Spec(std::vector<PlanSpec::Interval> values) { return PlanSpec{std::move(values)}; }

// By definition, position after position.
int64_t BruteForceLowerBound(const PlanSpec& spec, const std::vector<int64_t>& sizes) {
  uint32_t end = 0;
  int64_t alignment = 64;
  for (size_t k = 0; k < sizes.size(); ++k) {
    end = std::max(end, spec.values[k].last);
    if (sizes[k] > 0) alignment = std::min<int64_t>(alignment, spec.values[k].alignment);
  }
  int64_t bound = 0;
  for (uint32_t at = 0; at <= end; ++at) {
    int64_t live = 0, rounded = 0;
    for (size_t k = 0; k < sizes.size(); ++k) {
      if (spec.values[k].first > at || at > spec.values[k].last) continue;
      live += sizes[k];
      rounded += (sizes[k] + alignment - 1) / alignment * alignment;
    }
    bound = std::max({bound, live, rounded - (alignment - 1)});
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

// ---- among what is there ----

// Sizes of all values, places of the first ones, ends of arenas.
MemoryPlan Among(const PlanSpec& spec, std::vector<int64_t> sizes, const std::vector<int64_t>& places,
                 const std::vector<int64_t>& ends) {
  sizes.push_back(static_cast<int64_t>(places.size()));
  sizes.insert(sizes.end(), places.begin(), places.end());
  sizes.insert(sizes.end(), ends.begin(), ends.end());
  return *PlanAmong(spec, sizes, {});
}

TEST(PlanAmong, ValuesLieInGapsOfWhatIsAlive) {
  // 64 bytes at 0 and at 192 are alive all the time, those between are free until position 5.
  const PlanSpec spec = Spec({{0, 9}, {0, 9}, {5, 9}, {2, 4}});
  MemoryPlan plan = Among(spec, {64, 64, 128, 128}, {0, 192, 64}, {256});
  EXPECT_THAT(plan.offsets, ElementsAre(0, 192, 64, 64));
  EXPECT_EQ(plan.total_bytes, 0);
  plan = Among(spec, {64, 64, 128, 129}, {0, 192, 64}, {256});
  EXPECT_THAT(plan.offsets, ElementsAre(0, 192, 64, ArenaBehind(256)));
  EXPECT_EQ(plan.total_bytes, 129);
}

TEST(PlanAmong, NoValueLiesInTwoArenas) {
  const PlanSpec spec = Spec({{0, 9}, {0, 9}, {0, 9}});
  const int64_t second = ArenaBehind(100), third = ArenaBehind(second + 200);
  EXPECT_THAT(Among(spec, {150, 90, 20}, {}, {100, second + 200}).offsets, ElementsAre(second, 0, third));
  EXPECT_EQ(Among(spec, {201, 300, 0}, {}, {100, second + 200}).total_bytes, 320 + 201);
}

TEST(PlanAmong, NeverOverlapsAndNeverNeedsMoreThanApart) {
  std::mt19937 random(7);
  auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    // Two stages and their arenas; then a third one around them.
    PlanSpec spec, apart;
    std::vector<int64_t> sizes, places, ends;
    for (int arena = 0; arena < 2; ++arena) {
      PlanSpec stage;
      std::vector<int64_t> of_stage;
      for (int64_t k = below(6); k >= 0; --k) {
        const auto first = static_cast<uint32_t>(below(20));
        stage.values.push_back({first, first + static_cast<uint32_t>(below(12)), 64});
        of_stage.push_back(below(4) == 0 ? 0 : below(900));
      }
      const MemoryPlan plan = PlanMemory(stage, of_stage);
      const int64_t begin = ends.empty() ? 0 : ArenaBehind(ends.back());
      for (size_t k = 0; k < of_stage.size(); ++k) {
        spec.values.push_back(stage.values[k]);
        sizes.push_back(of_stage[k]);
        places.push_back(begin + plan.offsets[k]);
      }
      ends.push_back(begin + plan.total_bytes);
    }
    const size_t kept = places.size();
    for (int64_t k = below(8); k >= 0; --k) {
      const auto first = static_cast<uint32_t>(10 + below(12));
      spec.values.push_back({first, first + static_cast<uint32_t>(below(12)), 64});
      apart.values.push_back(spec.values.back());
      sizes.push_back(below(900));
    }
    const MemoryPlan plan = Among(spec, sizes, places, ends);
    const int64_t behind = ArenaBehind(ends.back());
    EXPECT_LE(
        plan.total_bytes,
        PlanMemory(apart, std::vector(sizes.begin() + static_cast<int64_t>(kept), sizes.end())).total_bytes);
    for (size_t a = 0; a < sizes.size(); ++a) {
      ASSERT_EQ(plan.offsets[a], a < kept ? places[a] : plan.offsets[a]);
      const int64_t begin = plan.offsets[a], end = begin + sizes[a];
      if (sizes[a] == 0) continue;
      ASSERT_EQ(begin % 64, 0);
      ASSERT_TRUE(end <= ends[0] || (begin >= ArenaBehind(ends[0]) && end <= ends[1]) ||
                  (begin >= behind && end <= behind + plan.total_bytes))
          << round << ": " << begin << " to " << end;
      for (size_t b = std::max(a + 1, kept); b < sizes.size(); ++b) {
        const bool together =
            spec.values[a].first <= spec.values[b].last && spec.values[b].first <= spec.values[a].last;
        ASSERT_FALSE(sizes[b] > 0 && together && begin < plan.offsets[b] + sizes[b] && plan.offsets[b] < end)
            << round << ": values " << a << " and " << b;
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
    if (plan.total_bytes == 0) continue;
    const double ratio = static_cast<double>(plan.total_bytes) / static_cast<double>(plan.lower_bound);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LT(worst, 1.30);
  EXPECT_LT(sum / kPlans, 1.05);
}

TEST(Planner, TheBoundCountsWhatAlignmentCosts) {
  // Nothing can be better than the first order's plan.
  const PlanSpec spec = Spec(std::vector<PlanSpec::Interval>(1000, {0, 1, 64}));
  MemoryPlan plan = PlanMemory(spec, std::vector<int64_t>(1000, 1));
  EXPECT_EQ(plan.total_bytes, 999 * 64 + 1);
  EXPECT_EQ(plan.lower_bound, plan.total_bytes);
}

// Kilobytes of memory that this process ever had at once.
int64_t MostKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Planner, TakesMemoryForValuesNotForPairs) {
  // All are alive together; 2^25 pairs. Another time, 60 are.
  for (uint32_t duration : {8192u, 60u}) {
    PlanSpec spec;
    for (uint32_t k = 0; k < 8192; ++k) spec.values.push_back({k, k + duration, 64});
    const std::vector<int64_t> sizes(8192, 64);
    const int64_t before = MostKilobytes();
    const MemoryPlan plan = PlanMemory(spec, sizes);
    EXPECT_EQ(plan.total_bytes, plan.lower_bound);
    EXPECT_LT(MostKilobytes() - before, 20'000);
  }
}

TEST(Planner, IsGivenUpWhenAskedTo) {
  const auto [spec, sizes] = ValuesThatCross(8192);
  int asked = 0;
  auto plan = PlanMemory(spec, sizes, [&] { return ++asked == 3; });
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kCancelled);
  EXPECT_EQ(asked, 3);
  plan = PlanMemory(spec, sizes, [] { return false; });
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->offsets, PlanMemory(spec, sizes).offsets);
}

// A file may declare as many.
TEST(Planner, PlansSixtyFiveThousandValuesWell) {
  const ManyValues together = ValuesAtOnce(65'536);
  MemoryPlan plan = PlanMemory(together.spec, together.sizes);
  EXPECT_LE(plan.total_bytes, plan.lower_bound + 63);
  const ManyValues crossing = ValuesThatCross(65'536);
  plan = PlanMemory(crossing.spec, crossing.sizes);
  EXPECT_LT(static_cast<double>(plan.total_bytes), 1.25 * static_cast<double>(plan.lower_bound));
}

// Four times as many take about four times the work: sixteen times would be the square. 65,536 values that
// are alive together take less than 50 milliseconds at three instructions a nanosecond.
TEST(Planner, WorkGrowsAsTheNumberOfValues) {
  if (const std::string why = WhyNotCounted(); !why.empty()) GTEST_SKIP() << why;
  for (const char* kind : {"together", "crossing"}) {
    std::optional<int64_t> counts[2];
    for (int large : {0, 1}) {
      counts[large] = CountInstructions(
          fmt::format("'{}/plan_costs' {} {}", BuildPath(), kind, large == 0 ? 16'384 : 65'536));
      if (!counts[large]) TVMVM_SKIP_WITHOUT("valgrind", "there is no valgrind, or it does not run here");
    }
    EXPECT_LT(*counts[1], 6 * *counts[0]) << kind;
    if (kind == std::string_view("together")) {
      EXPECT_LT(*counts[1], 150'000'000);
    }
  }
}

TEST(Planner, ManyValuesNeverOverlap) {
  for (uint32_t count : {1025u, 3000u}) {
    const auto [spec, sizes] = ValuesThatCross(count);
    const MemoryPlan plan = PlanMemory(spec, sizes);
    ASSERT_EQ(plan.offsets.size(), count);
    int64_t end = 0;
    for (size_t a = 0; a < count; ++a) {
      ASSERT_EQ(plan.offsets[a] % spec.values[a].alignment, 0);
      end = std::max(end, plan.offsets[a] + sizes[a]);
      for (size_t b = a + 1; b < count; ++b) {
        const bool together =
            spec.values[a].first <= spec.values[b].last && spec.values[b].first <= spec.values[a].last;
        const bool overlap =
            plan.offsets[a] < plan.offsets[b] + sizes[b] && plan.offsets[b] < plan.offsets[a] + sizes[a];
        ASSERT_FALSE(together && overlap) << a << " and " << b;
      }
    }
    EXPECT_EQ(end, plan.total_bytes);
    EXPECT_GE(plan.total_bytes, plan.lower_bound);
  }
}

// The least total of all placements on lines: values one after another, each at every multiple of its
// alignment that could matter.
void TryAll(const PlanSpec& spec, const std::vector<int64_t>& sizes, size_t k, std::vector<int64_t>* offsets,
            int64_t total, int64_t* best) {
  if (total >= *best) return;
  if (k == sizes.size()) {
    *best = total;
    return;
  }
  for (int64_t offset = 0; offset + sizes[k] < *best; offset += spec.values[k].alignment) {
    bool fits = true;
    for (size_t u = 0; u < k && fits; ++u) {
      const bool together =
          spec.values[u].first <= spec.values[k].last && spec.values[k].first <= spec.values[u].last;
      fits = !together || offset + sizes[k] <= (*offsets)[u] || (*offsets)[u] + sizes[u] <= offset;
    }
    (*offsets)[k] = offset;
    if (fits) TryAll(spec, sizes, k + 1, offsets, std::max(total, offset + sizes[k]), best);
  }
}

TEST(Planner, SmallPlansAreTheBestThereAre) {
  for (int seed = 0; seed < 300; ++seed) {
    Random random{std::mt19937(seed)};
    PlanSpec spec;
    std::vector<int64_t> sizes;
    const uint32_t count = 3 + random.Below(5);
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t first = random.Below(6);
      spec.values.push_back({first, first + random.Below(4), 64});
      sizes.push_back(64 * (1 + random.Below(5)) - random.Below(2) * random.Below(64));
    }
    const MemoryPlan plan = PlanMemory(spec, sizes);
    ExpectValid(spec, sizes, plan);
    std::vector<int64_t> offsets(count);
    int64_t best = plan.total_bytes + 1;
    TryAll(spec, sizes, 0, &offsets, 0, &best);
    // Arenas have whole lines.
    const int64_t lines = (best + 63) / 64;
    EXPECT_EQ((plan.total_bytes + 63) / 64, lines) << "seed " << seed;
    EXPECT_LE(plan.lower_bound, best) << "seed " << seed;
  }
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
