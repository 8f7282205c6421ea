#include "tvm-vm/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace tvmvm {
namespace {

TEST(DType, NamesAndOnnxNumbersAreUniqueAndComeBack) {
  std::set<std::string_view> names;
  std::set<int32_t> numbers;
  for (int i = 1; i < kDTypeCount; ++i) {
    auto dtype = static_cast<DType>(i);
    EXPECT_TRUE(names.insert(DTypeName(dtype)).second) << i;
    EXPECT_TRUE(numbers.insert(DTypeToOnnx(dtype)).second) << i;
    EXPECT_EQ(DTypeFromName(DTypeName(dtype)), dtype);
    EXPECT_EQ(DTypeFromOnnx(DTypeToOnnx(dtype)), dtype);
    int families = IsFloat(dtype) + IsInteger(dtype) + IsComplex(dtype) + (dtype == DType::kBool) +
                   (dtype == DType::kString);
    EXPECT_EQ(families, 1) << DTypeName(dtype);
  }
  EXPECT_FALSE(DTypeFromName("invalid"));
  EXPECT_FALSE(DTypeFromName("f31"));
  EXPECT_FALSE(DTypeFromOnnx(0));
  EXPECT_FALSE(DTypeFromOnnx(-1));
}

// The numbers of onnx.proto's TensorProto.DataType.
TEST(DType, OnnxNumbers) {
  constexpr std::string_view kByOnnxNumber[] = {
      "",           "f32", "u8",  "i8",     "u16",    "i16",  "i32",  "i64",      "string",     "bool",
      "f16",        "f64", "u32", "u64",    "c64",    "c128", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2",
      "f8e5m2fnuz", "u4",  "i4",  "f4e2m1", "f8e8m0", "u2",   "i2",   "f6e2m3",   "f6e3m2"};
  for (int32_t i = 1; i < kDTypeCount; ++i) {
    ASSERT_TRUE(DTypeFromOnnx(i)) << i;
    EXPECT_EQ(DTypeName(*DTypeFromOnnx(i)), kByOnnxNumber[i]);
  }
}

TEST(DType, SmallElementsArePackedAndRoundedUp) {
  EXPECT_EQ(DTypeBytes(DType::kF32, 3), 12);
  EXPECT_EQ(DTypeBytes(DType::kC128, 2), 32);
  EXPECT_EQ(DTypeBytes(DType::kF64, INT64_MAX / 8), INT64_MAX / 8 * 8);
  EXPECT_EQ(DTypeBytes(DType::kF64, (int64_t{1} << 61) + 1), INT64_MAX);
  EXPECT_EQ(DTypeBytes(DType::kBool, 3), 3);
  EXPECT_EQ(DTypeBytes(DType::kI4, 3), 2);
  EXPECT_EQ(DTypeBytes(DType::kU4, 4), 2);
  EXPECT_EQ(DTypeBytes(DType::kU2, 4), 1);
  EXPECT_EQ(DTypeBytes(DType::kI2, 5), 2);
  EXPECT_EQ(DTypeBytes(DType::kU4, 0), 0);
  EXPECT_EQ(DTypeBytes(DType::kString, 7), 0);
  EXPECT_TRUE(IsSubByte(DType::kF4E2M1));
  EXPECT_FALSE(IsSubByte(DType::kString));
  EXPECT_FALSE(IsSubByte(DType::kF8E5M2));
}

TEST(DType, ValuesOutsideTheEnumerationAreInvalid) {
  EXPECT_EQ(DTypeName(static_cast<DType>(200)), "invalid");
  EXPECT_EQ(DTypeBits(static_cast<DType>(200)), 0);
}

}  // namespace
}  // namespace tvmvm
