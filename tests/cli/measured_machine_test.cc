#include "cli/measured_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/machine_probe.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

MeasuredMachine Example() {
  return {"a CPU (1)", CpuLevel::kX86_64_V3, 2, {100, 50, 200, {{8192, 300}, {16384, 290}, {32768, 20}}}};
}

TEST(MeasuredMachine, IsReadAsItWasWritten) {
  const MeasuredMachine machine = Example();
  const MachineLimits limits = LimitsFromJson(FormatJson(ToJson(machine)), machine);
  EXPECT_EQ(limits.f32, 100);
  EXPECT_EQ(limits.f64, 50);
  EXPECT_EQ(limits.bytes, 200);
  ASSERT_EQ(limits.bandwidths.size(), 3u);
  EXPECT_EQ(limits.bandwidths[1].size, 16384);
  EXPECT_EQ(limits.bandwidths[1].bytes, 290);
}

TEST(MeasuredMachine, OfAnotherMachineIsNotTaken) {
  const std::string text = FormatJson(ToJson(Example()));
  MeasuredMachine other = Example();
  other.cpu = "another";
  EXPECT_THAT(LimitsFromJson(text, other).bandwidths, IsEmpty());
  other = Example();
  other.level = CpuLevel::kX86_64_V4;
  EXPECT_THAT(LimitsFromJson(text, other).bandwidths, IsEmpty());
  other = Example();
  other.threads = 1;
  EXPECT_THAT(LimitsFromJson(text, other).bandwidths, IsEmpty());
}

TEST(MeasuredMachine, WhatIsNoMeasurementIsNotTaken) {
  const std::string text = FormatJson(ToJson(Example()));
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("7"), text.substr(0, text.size() / 2),
        std::string(R"re({"probe": 1, "cpu": "a CPU (1)", "level": "x86-64-v3", "threads": 2})re")})
    EXPECT_THAT(LimitsFromJson(bad, Example()).bandwidths, IsEmpty()) << bad;
}

TEST(MeasuredMachine, ShowsSizesOfOneSpeedAsOne) {
  EXPECT_THAT(Describe(Example()), HasSubstr("2 threads: 100 GFLOP/s (f64 50, bytes 200)"));
  EXPECT_THAT(Describe(Example()), HasSubstr("GB/s: 300 in 16.4 KB, 20 in 32.8 KB"));
}

#if defined(__x86_64__)
TEST(MachineProbe, MeasuresSomethingPlausible) {
  const MachineLimits limits = MeasureMachine(CpuLevel::kX86_64_V3, 2);
  EXPECT_GT(limits.f64, 0);
  EXPECT_GT(limits.f32, limits.f64);
  ASSERT_GT(limits.bandwidths.size(), 10u);
  for (size_t i = 1; i < limits.bandwidths.size(); ++i) {
    EXPECT_GT(limits.bandwidths[i].size, limits.bandwidths[i - 1].size);
    EXPECT_LE(limits.bandwidths[i].bytes, limits.bandwidths[i - 1].bytes);
    EXPECT_GT(limits.bandwidths[i].bytes, 0);
  }
}
#endif

TEST(MachineProbe, KnowsNothingOfOtherArchitectures) {
  EXPECT_THAT(MeasureMachine(CpuLevel::kAArch64, 1).bandwidths, IsEmpty());
}

}  // namespace
}  // namespace tvmvm::cli
