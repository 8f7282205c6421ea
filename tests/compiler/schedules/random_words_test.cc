// The generator against the standard library's.
#include <gtest/gtest.h>

#include <random>

#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {
namespace {

TEST(RandomWords, AreThoseOfTheMersenneTwister) {
  for (int64_t seed : {int64_t{0}, int64_t{5489}, int64_t{UINT32_MAX}}) {
    GroupBuilder b;
    b.Add("random_words", {}, {{"count", K()}, {"seed", seed}});
    ScheduledGroup scheduled(b.function(), b.FinishAlone());
    for (int64_t count : {0, 1, 227, 623, 624, 625, 3000}) {
      for (auto& outputs : scheduled.Run({}, {{"k", count}})) {
        std::mt19937 wanted(static_cast<uint32_t>(seed));
        ASSERT_EQ(outputs[0].count(), count);
        for (int64_t i = 0; i < count; ++i)
          ASSERT_EQ(outputs[0].at(i).integer, static_cast<int64_t>(wanted())) << i;
      }
    }
  }
}

}  // namespace
}  // namespace tvmvm::tensor
