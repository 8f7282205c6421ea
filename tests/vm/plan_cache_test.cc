#include "vm/interpreter/plan_cache.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/vm/allocation_count.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::HasSubstr;

TEST(PlanCache, KeepsABoundedNumberOfPlans) {
  std::vector<PlanSpec> specs(1);
  specs[0].values = {{0, 1}, {1, 2}};
  PlanCache cache(specs);
  auto total = [&](int64_t a, int64_t b) {
    return cache.Get(PlanId{0}, std::array{a, b}, nullptr)->total_bytes;
  };
  for (int round = 0; round < 2; ++round)
    for (int64_t n = 1; n <= static_cast<int64_t>(PlanCache::kPlansKept); ++n)
      EXPECT_EQ(total(n * 64, n * 64), n * 128);
  EXPECT_EQ(cache.misses(), static_cast<int64_t>(PlanCache::kPlansKept));
  EXPECT_EQ(total(64'000, 64), 64'064);
  EXPECT_EQ(cache.misses(), static_cast<int64_t>(PlanCache::kPlansKept) + 1);
  total(128, 128);
  EXPECT_EQ(cache.misses(), static_cast<int64_t>(PlanCache::kPlansKept) + 1);
  total(64, 64);  // gone: the oldest made room
  EXPECT_EQ(cache.misses(), static_cast<int64_t>(PlanCache::kPlansKept) + 2);
}

TEST(PlanCache, WhatOneInvocationPlannedNoOtherOnePlans) {
  std::vector<PlanSpec> specs(1);
  specs[0].values = {{0, 1}, {1, 2}};
  auto account = std::make_shared<MemoryAccount>();
  {
    SharedPlans shared(1, account);
    auto plan_all = [&](PlanCache* cache, int64_t count) {
      for (int64_t n = 1; n <= count; ++n)
        EXPECT_EQ(cache->Get(PlanId{0}, std::array{n * 64, n * 64}, nullptr)->total_bytes, n * 128);
    };
    const auto kept = static_cast<int64_t>(SharedPlans::kPlansKept);
    PlanCache first(specs, nullptr, &shared), second(specs, nullptr, &shared);
    plan_all(&first, kept + 1);
    EXPECT_EQ(first.misses(), kept + 1);
    plan_all(&second, kept);
    EXPECT_EQ(second.misses(), 0);
    plan_all(&second, kept + 1);
    EXPECT_EQ(second.misses(), 1) << "there is no room for it beside the others";
    first.Clear();
    plan_all(&first, kept);
    EXPECT_EQ(first.misses(), kept + 1);
    EXPECT_GT(account->held_bytes(), 0);
    account->set_limit(account->held_bytes());
  }
  EXPECT_EQ(account->held_bytes(), 0);
  account->set_limit(1);
  SharedPlans none(1, account);
  PlanCache third(specs, nullptr, &none);
  EXPECT_EQ(third.Get(PlanId{0}, std::array{int64_t{64}, int64_t{64}}, nullptr)->total_bytes, 128);
  EXPECT_EQ(account->held_bytes(), 0) << "no room: it is kept elsewhere";
}

TEST(PlanCache, IsReadWhileOthersAdd) {
  std::vector<PlanSpec> specs(1);
  specs[0].values = {{0, 1}, {1, 2}};
  SharedPlans shared(1, nullptr);
  std::vector<std::jthread> threads;
  for (int64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      PlanCache cache(specs, nullptr, &shared);
      for (int64_t turn = 0; turn < 1000; ++turn) {
        const int64_t n = 1 + (turn * (2 * thread + 3)) % 100;
        ASSERT_EQ(cache.Get(PlanId{0}, std::array{n * 64, n * 64}, nullptr)->total_bytes, n * 128);
      }
    });
}

// Whichever allocation fails, the plans that are kept are right.
TEST(PlanCache, IsWholeAfterMemoryRanOut) {
  std::vector<PlanSpec> specs(1);
  specs[0].values = {{0, 1}, {1, 2}};
  for (int64_t filled : {int64_t{0}, int64_t{1}, static_cast<int64_t>(PlanCache::kPlansKept)}) {
    PlanCache cache(specs);
    auto total = [&](int64_t bytes) {
      return cache.Get(PlanId{0}, std::array{bytes, bytes}, nullptr)->total_bytes;
    };
    for (int64_t n = 1; n <= filled; ++n) total(n * 64);
    bool has_failed = true;
    for (int64_t number = 0; has_failed; ++number) {
      try {
        FailingAllocation failing(number);
        const int64_t bytes = 64'000 + 64 * number;
        EXPECT_EQ(total(bytes), 2 * bytes);
        has_failed = failing.has_failed();
      } catch (const std::bad_alloc&) {
      }
      EXPECT_EQ(total(64'000 + 64 * number), 2 * (64'000 + 64 * number)) << "allocation " << number;
      EXPECT_EQ(total(64), 128);
    }
  }
}

TEST(PlanCache, PlanningEndsWhenTheRunIsToEnd) {
  struct Cancelled final : CancelToken {
    bool cancelled() const override { return true; }
  } cancelled;
  std::vector<PlanSpec> specs(1);
  specs[0].values.assign(8192, {0, 1});
  PlanCache cache(specs);
  const std::vector<int64_t> sizes(8192, 64);
  EXPECT_EQ(cache.Get(PlanId{0}, sizes, &cancelled), nullptr);
  EXPECT_EQ(cache.Get(PlanId{0}, sizes, nullptr)->total_bytes, 8192 * 64);
}

// 65,536 values whose lifetimes cross, in a program of a few hundred kilobytes: a tenth of a second of
// planning.

}  // namespace
}  // namespace tvmvm
