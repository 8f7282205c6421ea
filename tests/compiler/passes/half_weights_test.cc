#include "compiler/passes/half_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tvmvm::passes {
namespace {

// The bits of the f16 numbers; empty: refused.
std::vector<uint16_t> Halves(const std::vector<float>& numbers, std::vector<int64_t> dims, int axis) {
  auto half = HalfWeights(ir::TensorData::FromVector(DType::kF32, std::move(dims), numbers), axis);
  if (!half) return {};
  EXPECT_EQ(half->dtype, DType::kF16);
  std::vector<uint16_t> bits(half->bytes.size() / 2);
  std::memcpy(bits.data(), half->bytes.data(), half->bytes.size());
  return bits;
}

TEST(HalfWeights, AreRoundedToTheNearestEven) {
  const float between = 1 + 0x1p-11f, above = 1 + 0x1.8p-10f;
  EXPECT_EQ(Halves({1, -2, between, above, 65504, 0}, {6}, -1),
            (std::vector<uint16_t>{0x3c00, 0xc000, 0x3c00, 0x3c02, 0x7bff, 0}));
}

TEST(HalfWeights, WhatHasNoFiniteHalfIsRefused) {
  for (float number : {65505.0f, -65536.0f, INFINITY, -INFINITY, NAN})
    EXPECT_TRUE(Halves({1, number}, {2}, -1).empty()) << number;
}

TEST(HalfWeights, TinyNumbersMayVanishBesideLargerOnes) {
  EXPECT_EQ(Halves({1, 1e-9f, 1e-6f, 1}, {2, 2}, 0).size(), 4u);
  EXPECT_EQ(Halves({1, 1e-9f, 1, 1e-9f}, {2, 2}, -1).size(), 4u);
  EXPECT_TRUE(Halves({1, 1e-9f, 1, 1e-9f}, {2, 2}, 1).empty()) << "a column would vanish";
  EXPECT_TRUE(Halves({1e-6f, 3e-7f}, {2}, -1).empty());
}

TEST(HalfWeights, ASliceOfZerosIsExact) {
  EXPECT_EQ(Halves({0, 1, 0, 1}, {2, 2}, 1), (std::vector<uint16_t>{0, 0x3c00, 0, 0x3c00}));
  EXPECT_TRUE(HalfWeights(ir::TensorData::FromVector<float>(DType::kF32, {0, 3}, {}), 1).has_value());
}

}  // namespace
}  // namespace tvmvm::passes
