#include "devices/driver/hazards.h"

#include <gtest/gtest.h>

namespace tvmvm {
namespace {

TEST(Hazards, WorkOnOtherBytesNeedNotWait) {
  Hazards hazards;
  hazards.Writes(100, 50);
  EXPECT_FALSE(hazards.MustWait());
  hazards.Reads(150, 10);
  hazards.Writes(90, 10);
  EXPECT_FALSE(hazards.MustWait());
  hazards.Reads(150, 10);
  hazards.Writes(80, 10);
  EXPECT_FALSE(hazards.MustWait());
}

TEST(Hazards, ReadingWhatWasWrittenWaits) {
  Hazards hazards;
  hazards.Writes(100, 50);
  EXPECT_FALSE(hazards.MustWait());
  hazards.Reads(149, 1);
  EXPECT_TRUE(hazards.MustWait());
  // Everything before the wait is done; what it announced counts.
  hazards.Reads(100, 50);
  EXPECT_FALSE(hazards.MustWait());
  hazards.Writes(149, 1);
  EXPECT_TRUE(hazards.MustWait());
}

TEST(Hazards, WritingWhatWasReadOrWrittenWaits) {
  for (bool written : {false, true}) {
    Hazards hazards;
    written ? hazards.Writes(0, 8) : hazards.Reads(0, 8);
    EXPECT_FALSE(hazards.MustWait());
    hazards.Writes(4, 100);
    EXPECT_TRUE(hazards.MustWait());
  }
}

TEST(Hazards, OneLaunchDoesNotWaitForItself) {
  Hazards hazards;
  hazards.Reads(0, 8);
  hazards.Writes(0, 8);
  EXPECT_FALSE(hazards.MustWait());
}

TEST(Hazards, NothingAndEverything) {
  Hazards hazards;
  hazards.Writes(10, 0);
  EXPECT_FALSE(hazards.MustWait());
  hazards.Writes(10, UINT64_MAX);  // to the end of memory
  EXPECT_FALSE(hazards.MustWait());
  hazards.Reads(9, 1);
  EXPECT_FALSE(hazards.MustWait());
  hazards.Reads(UINT64_MAX - 1, 1);
  EXPECT_TRUE(hazards.MustWait());
  hazards.Clear();
  hazards.Writes(9, 1);
  EXPECT_FALSE(hazards.MustWait());
}

TEST(Hazards, ALongListEnds) {
  Hazards hazards;
  int waits = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    hazards.Writes(i, 1);
    waits += hazards.MustWait() ? 1 : 0;
  }
  EXPECT_GT(waits, 0);
  EXPECT_LT(waits, 50);
}

}  // namespace
}  // namespace tvmvm
