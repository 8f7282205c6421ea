#include "cli/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/elements.h"

namespace tvmvm::cli {
namespace {

Tensor MakeFloats(DType dtype, const std::vector<double>& values) {
  Tensor tensor = *Tensor::Allocate(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) WriteFloat(tensor, static_cast<int64_t>(i), values[i]);
  return tensor;
}

Tensor MakeIntegers(DType dtype, const std::vector<int64_t>& values) {
  Tensor tensor = *Tensor::Allocate(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) WriteInteger(tensor, static_cast<int64_t>(i), values[i]);
  return tensor;
}

std::string Difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance = {}) {
  return FindDifference(got, want, tolerance).value_or("");
}

TEST(CompareTest, FloatsWithinTolerance) {
  EXPECT_EQ(Difference(MakeFloats(DType::kF32, {1.0009, 0}), MakeFloats(DType::kF32, {1, 5e-8})), "");
  EXPECT_EQ(Difference(MakeFloats(DType::kF32, {1, 2.01, 3.0}), MakeFloats(DType::kF32, {1, 2, 3.1})),
            "2 of 3 elements differ, worst at [2]: 3, want 3.1 (off by 0.1, allowed 0.0031)");
}

TEST(CompareTest, ToleranceCanBeGiven) {
  Tensor got = MakeFloats(DType::kF32, {1.1}), want = MakeFloats(DType::kF32, {1});
  EXPECT_EQ(Difference(got, want, {.rtol = 0.2}), "");
  EXPECT_EQ(Difference(got, want, {.atol = 0.2}), "");
  EXPECT_NE(Difference(got, want), "");
}

TEST(CompareTest, SmallFloatsHaveWiderBounds) {
  EXPECT_EQ(Difference(MakeFloats(DType::kF16, {9e-6}), MakeFloats(DType::kF16, {0})), "");
  EXPECT_NE(Difference(MakeFloats(DType::kF32, {9e-6}), MakeFloats(DType::kF32, {0})), "");
  EXPECT_EQ(Difference(MakeFloats(DType::kBF16, {1.015}), MakeFloats(DType::kBF16, {1})), "");
  EXPECT_NE(Difference(MakeFloats(DType::kF16, {1.015}), MakeFloats(DType::kF16, {1})), "");
}

TEST(CompareTest, APartOfTheLargestMayBeAllowed) {
  Tensor got = MakeFloats(DType::kF32, {100, 0.3, INFINITY}),
         want = MakeFloats(DType::kF32, {100, 0, INFINITY});
  EXPECT_EQ(Difference(got, want, {.of_largest = kHalfPrecision}), "");
  EXPECT_NE(Difference(got, want), "");
  EXPECT_NE(Difference(MakeFloats(DType::kF32, {100, 0.5}), MakeFloats(DType::kF32, {100, 0}),
                       {.of_largest = kHalfPrecision}),
            "");
  EXPECT_NE(Difference(MakeFloats(DType::kF64, {100, 0.3}), MakeFloats(DType::kF64, {100, 0}),
                       {.of_largest = kHalfPrecision}),
            "")
      << "f64 is never narrowed";
}

TEST(CompareTest, NanEqualsNanAndInfinitiesMustAgree) {
  EXPECT_EQ(Difference(MakeFloats(DType::kF64, {NAN, INFINITY}), MakeFloats(DType::kF64, {NAN, INFINITY})),
            "");
  EXPECT_NE(Difference(MakeFloats(DType::kF64, {NAN}), MakeFloats(DType::kF64, {1})), "");
  EXPECT_NE(Difference(MakeFloats(DType::kF64, {1}), MakeFloats(DType::kF64, {NAN})), "");
  EXPECT_NE(Difference(MakeFloats(DType::kF64, {INFINITY}), MakeFloats(DType::kF64, {-INFINITY})), "");
  EXPECT_NE(Difference(MakeFloats(DType::kF64, {1e300}), MakeFloats(DType::kF64, {INFINITY})), "");
}

TEST(CompareTest, IntegersAndBoolsAreExact) {
  EXPECT_EQ(Difference(MakeIntegers(DType::kI64, {1, 2}), MakeIntegers(DType::kI64, {1, 2})), "");
  EXPECT_EQ(Difference(MakeIntegers(DType::kI32, {1000000}), MakeIntegers(DType::kI32, {1000001})),
            "1 of 1 elements differ, worst at [0]: 1000000, want 1000001");
  // Neighbours that are one number as doubles.
  int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_NE(Difference(MakeIntegers(DType::kI64, {big}), MakeIntegers(DType::kI64, {big - 1})), "");
  EXPECT_NE(Difference(MakeIntegers(DType::kBool, {0}), MakeIntegers(DType::kBool, {1})), "");
  EXPECT_EQ(Difference(MakeIntegers(DType::kU4, {15}), MakeIntegers(DType::kU4, {14})),
            "1 of 1 elements differ, worst at [0]: 15, want 14");
}

TEST(CompareTest, Strings) {
  Tensor a = Tensor::FromStrings({2, 1}, {"a", "b"}), b = Tensor::FromStrings({2, 1}, {"a", "c"});
  EXPECT_EQ(Difference(a, a), "");
  EXPECT_EQ(Difference(a, b), "1 of 2 elements differ, worst at [1, 0]: \"b\", want \"c\"");
}

TEST(CompareTest, TypeAndShape) {
  EXPECT_EQ(Difference(MakeFloats(DType::kF32, {1}), MakeFloats(DType::kF64, {1})), "dtype f32, want f64");
  EXPECT_EQ(Difference(MakeFloats(DType::kF32, {1}), MakeFloats(DType::kF32, {1, 2})), "shape [1], want [2]");
  EXPECT_EQ(Difference(MakeFloats(DType::kF32, {1}), MakeFloats(DType::kF32, {2}), {.shape_only = true}), "");
}

TEST(CompareTest, RandomTestsAreKnownByName) {
  EXPECT_TRUE(HasRandomOutputs("test_bernoulli_seed"));
  EXPECT_FALSE(HasRandomOutputs("test_add"));
}

}  // namespace
}  // namespace tvmvm::cli
