#include "tvm-vm/shape.h"

#include <gtest/gtest.h>

namespace tvmvm {
namespace {

TEST(Shape, ElementCount) {
  EXPECT_EQ(Shape({}).ElementCount(), 1);
  EXPECT_EQ(Shape({2, 3}).ElementCount(), 6);
  EXPECT_EQ(Shape({2, 0, 3}).ElementCount(), 0);
  EXPECT_EQ(Shape({2, -1}).ElementCount(), std::nullopt);
  EXPECT_EQ(Shape({0, -1}).ElementCount(), std::nullopt);
  EXPECT_EQ(Shape({int64_t{1} << 32, int64_t{1} << 31}).ElementCount(), std::nullopt);
  EXPECT_EQ(Shape({INT64_MAX, 1}).ElementCount(), INT64_MAX);
  EXPECT_EQ(Shape({int64_t{1} << 40, int64_t{1} << 40, 0}).ElementCount(), 0);
}

TEST(Shape, Text) {
  EXPECT_EQ(Shape({}).ToString(), "[]");
  EXPECT_EQ(Shape({2, 3}).ToString(), "[2, 3]");
}

TEST(Shape, Equality) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_FALSE(Shape({2, 3}) == Shape({2}));
  EXPECT_FALSE(Shape({2, 3}) == Shape({2, 4}));
}

}  // namespace
}  // namespace tvmvm
