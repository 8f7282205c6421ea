#include "allocator/block_times.h"

#include <gtest/gtest.h>

namespace tvmvm {
namespace {

constexpr int64_t kMegabyte = 1 << 20, kGigabyte = 1 << 30, kMillisecond = 1'000'000;

TEST(BlockTimes, WhatThereIsNoTimeForIsRefused) {
  const BlockTimes times(40'000);
  EXPECT_EQ(times.Estimate(kGigabyte), 40'960'000);
  EXPECT_TRUE(times.Check(kGigabyte, 40'960'000));
  const Status refused = times.Check(kGigabyte, 40'959'999);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(
      refused.error().message,
      "no 1073741824 bytes: to get them takes about 40960 microseconds, and 40959 microseconds are left");
  EXPECT_TRUE(times.Check(kMegabyte, kMillisecond));
  EXPECT_EQ(times.Check(kMegabyte, -5).error().message,
            "no 1048576 bytes: to get them takes about 40 microseconds, and 0 nanoseconds are left");
  EXPECT_FALSE(BlockTimes(1'000'000'000).Check(INT64_MAX, INT64_MAX / 4)) << "numbers do not wrap";
}

TEST(BlockTimes, WhatTakesNoTimeAlwaysIsInTime) {
  BlockTimes times(0);
  times.Learn(kGigabyte, 1000 * kMillisecond);
  EXPECT_EQ(times.Estimate(kGigabyte), 0);
  EXPECT_TRUE(times.Check(kGigabyte, -kMillisecond));
}

TEST(BlockTimes, MeasuredBlocksCount) {
  BlockTimes times(40'000);
  for (int i = 0; i < 12; ++i) times.Learn(kGigabyte, 28 * kMillisecond);
  EXPECT_NEAR(static_cast<double>(times.megabyte_ns()), 27'343, 20);
  for (int i = 0; i < 12; ++i) times.Learn(64 * kMegabyte, 64 * 100'000);
  EXPECT_NEAR(static_cast<double>(times.megabyte_ns()), 100'000, 100);
  times.Learn(kMegabyte, kMillisecond);  // too small to tell
  EXPECT_NEAR(static_cast<double>(times.megabyte_ns()), 100'000, 100);
}

// A thread may lose its CPU, and find the driver at something else.
TEST(BlockTimes, OneThatWasHeldUpChangesLittle) {
  BlockTimes times(30'000);
  times.Learn(16 * kMegabyte, 1000 * kMillisecond);
  EXPECT_EQ(times.megabyte_ns(), 60'000);
  for (int i = 0; i < 5; ++i) times.Learn(16 * kMegabyte, 16 * 30'000);
  EXPECT_LT(times.megabyte_ns(), 31'000);
  for (int i = 0; i < 99; ++i) times.Learn(16 * kMegabyte, 0);
  EXPECT_EQ(times.megabyte_ns(), 1) << "0 would be for good";
}

}  // namespace
}  // namespace tvmvm
