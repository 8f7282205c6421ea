#include "cli/elements.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tvmvm::cli {
namespace {

Tensor OneByte(DType dtype, uint8_t* byte) { return Tensor::Borrow(dtype, {1}, byte); }

double Decode(DType dtype, uint8_t code) { return ReadFloat(OneByte(dtype, &code), 0); }

TEST(ElementsTest, LargestValuesOfTheSmallFormats) {
  EXPECT_EQ(Decode(DType::kF8E4M3FN, 0x7e), 448);
  EXPECT_EQ(Decode(DType::kF8E4M3FNUZ, 0x7f), 240);
  EXPECT_EQ(Decode(DType::kF8E5M2, 0x7b), 57344);
  EXPECT_EQ(Decode(DType::kF8E5M2FNUZ, 0x7f), 57344);
  EXPECT_EQ(Decode(DType::kF8E8M0, 0xfe), std::ldexp(1.0, 127));
  EXPECT_EQ(Decode(DType::kF4E2M1, 0x7), 6);
}

TEST(ElementsTest, SpecialCodes) {
  EXPECT_TRUE(std::isnan(Decode(DType::kF8E4M3FN, 0x7f)));
  EXPECT_TRUE(std::isnan(Decode(DType::kF8E4M3FNUZ, 0x80)));
  EXPECT_TRUE(std::isinf(Decode(DType::kF8E5M2, 0x7c)));
  EXPECT_TRUE(std::isnan(Decode(DType::kF8E5M2, 0x7d)));
  EXPECT_TRUE(std::isnan(Decode(DType::kF8E5M2FNUZ, 0x80)));
  EXPECT_TRUE(std::isnan(Decode(DType::kF8E8M0, 0xff)));
  EXPECT_EQ(Decode(DType::kF8E4M3FN, 0x01), std::ldexp(1.0, -9));  // the smallest subnormal
}

TEST(ElementsTest, AnExponentThatIsTooLargeIsTheLargest) {
  for (auto [value, code] :
       {std::pair(HUGE_VAL, 254), {-HUGE_VAL, 254}, {1e300, 254}, {0.0, 0}, {1e-300, 0}}) {
    uint8_t byte = 1;
    Tensor tensor = OneByte(DType::kF8E8M0, &byte);
    WriteFloat(tensor, 0, value);
    EXPECT_EQ(byte, code) << value;
  }
}

TEST(ElementsTest, EveryCodeOfASmallFormatSurvivesItsValue) {
  for (DType dtype :
       {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0}) {
    for (int code = 0; code < 256; ++code) {
      uint8_t byte = static_cast<uint8_t>(code), back = 0;
      double value = Decode(dtype, byte);
      if (!std::isfinite(value)) continue;
      Tensor tensor = OneByte(dtype, &back);
      WriteFloat(tensor, 0, value);
      EXPECT_EQ(back, byte) << DTypeName(dtype) << " " << value;
    }
  }
}

TEST(ElementsTest, HalvesRoundToNearestEven) {
  uint16_t half = 0;
  Tensor tensor = Tensor::Borrow(DType::kF16, {1}, &half);
  WriteFloat(tensor, 0, 2049);  // between 2048 and 2050
  EXPECT_EQ(ReadFloat(tensor, 0), 2048);
  WriteFloat(tensor, 0, 2051);
  EXPECT_EQ(ReadFloat(tensor, 0), 2052);
}

TEST(ElementsTest, Text) {
  uint64_t big = UINT64_MAX;
  EXPECT_EQ(FormatElement(Tensor::Borrow(DType::kU64, {1}, &big), 0), "18446744073709551615");
  uint8_t one = 1;
  EXPECT_EQ(FormatElement(Tensor::Borrow(DType::kBool, {1}, &one), 0), "true");
  EXPECT_EQ(FormatElement(Tensor::FromStrings({1}, {"a\"\n"}), 0), "\"a\\\"\\x0a\"");
  float c[2] = {1, -2};
  EXPECT_EQ(FormatElement(Tensor::Borrow(DType::kC64, {1}, c), 0), "(1-2j)");
}

}  // namespace
}  // namespace tvmvm::cli
