#include "cli/value_text.h"

#include <gtest/gtest.h>

namespace tvmvm::cli {
namespace {

DimSpec Fixed(int64_t value) { return {.value = value}; }
DimSpec Symbol(const char* name) { return {.symbol = name}; }

Tensor Numbers(std::vector<int64_t> values) {
  Tensor tensor = *Tensor::Allocate(DType::kI64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), static_cast<int64_t*>(tensor.data()));
  return tensor;
}

TEST(ValueText, Types) {
  EXPECT_EQ(FormatType({.dtype = DType::kF32, .dims = {Symbol("batch"), Fixed(3)}}), "f32[batch, 3]");
  EXPECT_EQ(FormatType({.dtype = DType::kBool, .dims = {Symbol("n"), {}}}), "bool[n, ?]");
  EXPECT_EQ(FormatType({.dtype = DType::kF32, .has_rank = false}), "f32[...]");
  TypeSpec sequence{.kind = ValueKind::kSequence, .elements = {TypeSpec{.dtype = DType::kI64}}};
  EXPECT_EQ(FormatType(sequence), "sequence<i64[]>");
  EXPECT_EQ(FormatType(TypeSpec{.kind = ValueKind::kOptional}), "optional<?>");
}

TEST(ValueText, ElementsStandOnLinesOfTheirOwn) {
  Value inner = Value::Sequence({Value(Numbers({1, 2, 3})), Value()});
  Value outer = Value::Sequence({inner, Value::Tuple(4, {Value(Numbers({}))}), Value()});
  EXPECT_EQ(FormatValue("y", outer, 2),
            "y: sequence of 3\n"
            "  y[0]: sequence of 2\n"
            "    y[0][0]: i64[3] [1, 2, ...]\n"
            "    y[0][1]: none\n"
            "  y[1]: tuple 4 of 1\n"
            "    y[1][0]: i64[0] []\n"
            "  ...");
  EXPECT_EQ(FormatJson(DescribeValue(outer)),
            R"({"elements":[{"elements":[{"dtype":"i64","shape":[3]},{"none":true}]},)"
            R"({"elements":[{"dtype":"i64","shape":[0]}],"tag":4},{"none":true}]})");
}

}  // namespace
}  // namespace tvmvm::cli
