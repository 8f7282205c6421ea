// What only running tells of tensors.
#include <gmock/gmock.h>

#include "tests/vm/host_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::HasSubstr;

std::string Check(std::vector<int64_t> indices, std::vector<int64_t> sizes) {
  return RunHostError(R"(("indices": i64[n], "sizes": i64[k]) -> ("y": i64[]))",
                      "[], [] = host indices.check, [], [r0, r1]\n r2 = alloc i64, []\n return [], [r2]",
                      {Ints(std::move(indices)), Ints(std::move(sizes))});
}

TEST(IndicesCheck, CountsFromBothEnds) {
  EXPECT_EQ(Check({0, 2, -3}, {3}), "");
  EXPECT_THAT(Check({0, 3}, {3}), HasSubstr("index 3 (number 1 of the indices) is out of range [-3, 3)"));
  EXPECT_THAT(Check({-4}, {3}), HasSubstr("index -4 (number 0 of the indices)"));
  EXPECT_THAT(Check({0, 1, 0, 2}, {1, 2}),
              HasSubstr("index 2 (number 3 of the indices) is out of range [-2"));
  EXPECT_THAT(Check({INT64_MIN}, {INT64_MAX}), HasSubstr("index -9223372036854775808"));
  EXPECT_THAT(Check({0}, {0}), HasSubstr("index 0 (number 0 of the indices) is out of range [-0, 0)"));
}

TEST(IndicesCheck, SizesAreNotNegative) {
  EXPECT_THAT(Check({0}, {INT64_MIN}),
              HasSubstr("size -9223372036854775808 (number 0 of the sizes) is negative"));
  EXPECT_THAT(Check({0, 0}, {1, -5}), HasSubstr("size -5 (number 1 of the sizes) is negative"));
}

}  // namespace
}  // namespace tvmvm
