#include "cli/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cli/elements.h"
#include "cli/npy.h"
#include "cli/random_data.h"
#include "tests/cli/scratch.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;

DimSpec Fixed(int64_t value) { return {.value = value}; }
DimSpec Symbol(const char* name, int64_t low = 0) { return {.symbol = name, .low = low}; }
TypeSpec TensorOf(DType dtype, std::vector<DimSpec> dims) {
  return {.dtype = dtype, .dims = std::move(dims)};
}

FunctionSpec TwoInputs() {
  FunctionSpec main;
  main.inputs = {{"x", TensorOf(DType::kF32, {Symbol("batch"), Fixed(3)})},
                 {"mask", TensorOf(DType::kBool, {Symbol("n", 2), {}})}};
  return main;
}

std::string ErrorOf(const InputArguments& arguments) {
  auto inputs = MakeInputs(TwoInputs(), arguments);
  return inputs ? "no error" : inputs.error().message;
}

InputSpec Random(const char* name, std::vector<int64_t> dims) {
  return {.name = name, .dims = std::move(dims)};
}

TEST(MakeInputsTest, WithNoneGivenAllAreMade) {
  auto inputs = MakeInputs(TwoInputs(), {.dims = {{"batch", {4, 4}}}});
  ASSERT_TRUE(inputs);
  EXPECT_EQ((*inputs)[0].tensor().shape(), Shape({4, 3}));
  EXPECT_EQ((*inputs)[1].tensor().shape(), Shape({2, 1}));  // the symbol's lower bound; unknown dims are 1
}

TEST(MakeInputsTest, NamesFirstThenOrder) {
  ScratchFolder scratch;
  float values[6] = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(WriteNpy(scratch / "x.npy", Tensor::Borrow(DType::kF32, {2, 3}, values)));
  auto inputs = MakeInputs(TwoInputs(), {.inputs = {Random("mask", {5, 6}), {.path = scratch / "x.npy"}}});
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ(ReadFloat((*inputs)[0].tensor(), 5), 6);
  EXPECT_EQ((*inputs)[1].tensor().shape(), Shape({5, 6}));
}

TEST(MakeInputsTest, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf({.inputs = {Random("x", {1, 3})}}), "input 'mask' (bool[n, ?]) is missing");
  EXPECT_EQ(ErrorOf({.inputs = {Random("z", {1})}}), "the model has no input 'z'; its inputs are: x, mask");
  EXPECT_EQ(ErrorOf({.inputs = {Random("x", {1, 3}), Random("x", {1, 3})}}), "input 'x' is given twice");
  EXPECT_EQ(ErrorOf({.inputs = {Random("", {1}), Random("", {1}), Random("", {1})}}),
            "3 inputs are given, the model takes 2: x, mask");
  EXPECT_EQ(ErrorOf({.dims = {{"bach", {4, 4}}}}), "the model's inputs have no dimension named 'bach' (did you mean 'batch'?)");
  EXPECT_THAT(ErrorOf({.inputs = {Random("x", {1ll << 40, 1ll << 40}), Random("mask", {1, 1})}}),
              HasSubstr("[1099511627776, 1099511627776]"));
}

TEST(MakeInputsTest, OptionalsAndSequences) {
  FunctionSpec main;
  TypeSpec tensor = TensorOf(DType::kF32, {Fixed(3)});
  main.inputs = {{"o", {.kind = ValueKind::kOptional, .elements = {tensor}}},
                 {"s", {.kind = ValueKind::kSequence, .elements = {tensor}}}};
  auto inputs = MakeInputs(main, {});
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ((*inputs)[0].tensor().shape(), Shape({3}));
  ASSERT_TRUE((*inputs)[1].is_sequence());
  EXPECT_EQ((*inputs)[1].elements().size(), 3u);
  EXPECT_EQ((*inputs)[1].elements()[2].tensor().shape(), Shape({3}));
  InputSpec none{.name = "o", .absent = true};
  inputs = MakeInputs(main, {.inputs = {none, {.name = "s"}}});
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_TRUE((*inputs)[0].is_none());
  none.name = "s";
  inputs = MakeInputs(main, {.inputs = {none, {.name = "o"}}});
  ASSERT_FALSE(inputs);
  EXPECT_EQ(inputs.error().message, "input 's' is sequence<f32[3]>, which cannot be none");
}

TEST(RandomTensorTest, SeedsGiveTheSameNumbersAgain) {
  Tensor a = *MakeRandomTensor(DType::kF32, {100}, 1), b = *MakeRandomTensor(DType::kF32, {100}, 1);
  Tensor c = *MakeRandomTensor(DType::kF32, {100}, 2);
  bool same_ab = true, same_ac = true;
  for (int64_t i = 0; i < 100; ++i) {
    same_ab &= ReadFloat(a, i) == ReadFloat(b, i);
    same_ac &= ReadFloat(a, i) == ReadFloat(c, i);
  }
  EXPECT_TRUE(same_ab);
  EXPECT_FALSE(same_ac);
}

TEST(RandomTensorTest, ValuesAreInRangeAndDiffer) {
  for (int i = 1; i < kDTypeCount; ++i) {
    DType dtype = static_cast<DType>(i);
    SCOPED_TRACE(DTypeName(dtype));
    auto tensor = MakeRandomTensor(dtype, {64}, 7);
    ASSERT_TRUE(tensor);
    std::set<std::string> seen;
    for (int64_t k = 0; k < 64; ++k) {
      seen.insert(FormatElement(*tensor, k));
      EXPECT_TRUE(!IsFloat(dtype) || std::abs(ReadFloat(*tensor, k)) <= 1);
      bool is_index = IsInteger(dtype) && DTypeBits(dtype) >= 32;
      EXPECT_TRUE(!is_index || static_cast<uint64_t>(ReadInteger(*tensor, k)) <= 1u);
    }
    EXPECT_GT(seen.size(), 1u);
  }
}

}  // namespace
}  // namespace tvmvm::cli
