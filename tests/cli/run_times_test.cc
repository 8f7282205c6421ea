#include "cli/run_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunTimes TimesOf(int count) {
  RunTimes times;
  for (int i = 1; i <= count; ++i) times.sorted.push_back(i);
  times.wall_ms = 500;
  return times;
}

TEST(RunTimesTest, StatisticsAreThoseOfTheTextbook) {
  const RunTimes times = TimesOf(100);
  EXPECT_DOUBLE_EQ(times.Mean(), 50.5);
  EXPECT_NEAR(times.Deviation(), 29.0115, 1e-4);
  EXPECT_EQ(times.Percentile(0.5), 50);
  EXPECT_EQ(times.Percentile(0.9), 90);
  EXPECT_EQ(times.Percentile(0.99), 99);
  EXPECT_DOUBLE_EQ(times.RunsASecond(), 200);
  EXPECT_EQ(TimesOf(1).Deviation(), 0);
  EXPECT_EQ(TimesOf(1).Percentile(0.99), 1);
}

TEST(RunTimesTest, PercentilesOfTooFewRunsAreMarked) {
  EXPECT_THAT(FormatTimes(TimesOf(100)), Not(HasSubstr("too few runs")));
  const std::string few = FormatTimes(TimesOf(30));
  EXPECT_THAT(few, HasSubstr("p95 29.0000 ms,"));
  EXPECT_THAT(few, HasSubstr("p99 30.0000 ms*,"));
  EXPECT_THAT(few, HasSubstr("(* of too few runs: the slowest)"));
  EXPECT_EQ(TimesHead().size(), TimesRow(TimesOf(30)).size());
}

}  // namespace
}  // namespace tvmvm::cli
