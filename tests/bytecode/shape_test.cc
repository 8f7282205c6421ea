#include "tvm-vm/shape.h"

#include <gtest/gtest.h>

#include <vector>

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

TEST(Shape, MoreDimsThanThereCanBeMakeAShapeThatCannotBe) {
  const std::vector<int64_t> most(kMaxRank, 1), more(kMaxRank + 1, 1);
  EXPECT_EQ(Shape(most).ElementCount(), 1);
  Shape shape(more);
  EXPECT_EQ(shape.rank(), kMaxRank);
  EXPECT_EQ(shape.ElementCount(), std::nullopt);
  EXPECT_EQ(Shape(std::vector<int64_t>(1000, 0)).ElementCount(), std::nullopt);

  shape = Shape(most);
  for (int i = 0; i < 3; ++i) shape.push_back(0);
  EXPECT_EQ(shape.rank(), kMaxRank);
  EXPECT_EQ(shape.ElementCount(), std::nullopt);
}

TEST(Shape, CreateSaysWhatIsWrong) {
  const std::vector<int64_t> most(kMaxRank, 1), more(kMaxRank + 1, 1);
  auto shape = Shape::Create(most);
  ASSERT_TRUE(shape);
  EXPECT_EQ(*shape, Shape(most));
  auto refused = Shape::Create(more);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().message, "rank 33, at most 32 is possible");
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
