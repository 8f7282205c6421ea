#include "compiler/passes/quantized/block_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/graph/tensor_elements.h"

namespace tvmvm::passes {
namespace {

using ir::TensorData;

std::vector<float> Normal(size_t count, float mean = 0) {
  std::mt19937 random(5);
  std::normal_distribution<float> distribution(mean, 1);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = distribution(random);
  return numbers;
}

TensorData Floats(std::vector<int64_t> dims, const std::vector<float>& numbers) {
  return TensorData::FromVector(DType::kF32, std::move(dims), numbers);
}

double At(const TensorData& data, int64_t i) {
  const tensor::Scalar scalar = ir::ReadElement(data, i);
  return IsFloat(data.dtype) ? scalar.number : static_cast<double>(scalar.integer);
}

// What `dequantize` gives for codes of a matrix in blocks along `axis`.
std::vector<double> Decoded(const BlockCodes& codes, int axis, int64_t block) {
  const int64_t rows = codes.codes.dims[0], columns = codes.codes.dims[1];
  std::vector<double> numbers;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t entry = axis == 0 ? r / block * columns + c : r * codes.scale.dims[1] + c / block;
      const double zero = codes.zero ? At(*codes.zero, entry) : 0;
      numbers.push_back((At(codes.codes, r * columns + c) - zero) * At(codes.scale, entry));
    }
  }
  return numbers;
}

TEST(BlockCodes, AreNearTheNumbers) {
  const std::vector<float> numbers = Normal(60 * 50);
  for (int axis : {0, 1}) {
    for (int bits : {4, 8}) {
      SCOPED_TRACE(testing::Message() << bits << " bits along " << axis);
      auto codes = MakeBlockCodes(Floats({60, 50}, numbers), axis, 16, bits);
      ASSERT_TRUE(codes);
      EXPECT_EQ(codes->scale.dims, axis == 0 ? (std::vector<int64_t>{4, 50}) : (std::vector<int64_t>{60, 4}));
      const std::vector<double> decoded = Decoded(*codes, axis, 16);
      double errors = 0, squares = 0, worst = 0, largest = 0;
      for (size_t i = 0; i < numbers.size(); ++i) {
        errors += std::pow(decoded[i] - numbers[i], 2);
        squares += std::pow(numbers[i], 2);
        worst = std::max(worst, std::fabs(decoded[i] - numbers[i]));
        largest = std::max(largest, std::fabs(double{numbers[i]}));
      }
      EXPECT_LT(std::sqrt(errors / squares), bits == 4 ? 0.075 : 0.005);
      EXPECT_NEAR(codes->relative_error, std::sqrt(errors / squares), 1e-4);
      EXPECT_NEAR(codes->largest_error, worst / largest, 1e-4);
    }
  }
}

TEST(BlockCodes, OneSidedNumbersGetZeroPoints) {
  auto codes = MakeBlockCodes(Floats({8, 32}, Normal(256, 8)), 1, 32, 4);
  ASSERT_TRUE(codes);
  EXPECT_EQ(codes->codes.dtype, DType::kU4);
  EXPECT_TRUE(codes->zero.has_value());
}

TEST(BlockCodes, WhatCodesHoldIsExact) {
  std::vector<float> numbers;
  for (int i = 0; i < 64; ++i) numbers.push_back(static_cast<float>(i % 16 - 8) * 0.5F);
  auto codes = MakeBlockCodes(Floats({2, 32}, numbers), 1, 32, 4);
  ASSERT_TRUE(codes);
  EXPECT_EQ(codes->relative_error, 0);
  EXPECT_EQ(codes->largest_error, 0);
  EXPECT_FALSE(codes->zero.has_value()) << "zero points gain nothing";
  EXPECT_EQ(codes->codes.dtype, DType::kI4);
}

TEST(BlockCodes, ZerosStayZero) {
  auto codes = MakeBlockCodes(Floats({2, 16}, std::vector<float>(32, 0.0F)), 1, 16, 8);
  ASSERT_TRUE(codes);
  for (double number : Decoded(*codes, 1, 16)) EXPECT_EQ(number, 0);
  EXPECT_EQ(codes->relative_error, 0);
}

TEST(BlockCodes, ScalesAreHalvesWhereTheseHoldThem) {
  std::vector<float> numbers = Normal(64);
  EXPECT_EQ(MakeBlockCodes(Floats({2, 32}, numbers), 1, 32, 8)->scale.dtype, DType::kF16);
  for (float& number : numbers) number *= 1e-6F;
  auto codes = MakeBlockCodes(Floats({2, 32}, numbers), 1, 32, 8);
  EXPECT_EQ(codes->scale.dtype, DType::kF32);
  EXPECT_LT(codes->relative_error, 0.01);
}

TEST(BlockCodes, WhatIsNotFiniteIsRefused) {
  for (float number : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> numbers = Normal(64);
    numbers[40] = number;
    EXPECT_FALSE(MakeBlockCodes(Floats({2, 32}, numbers), 1, 32, 8)) << number;
  }
}

}  // namespace
}  // namespace tvmvm::passes
