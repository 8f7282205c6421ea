// Unique, with results stated by the ONNX documentation's examples.
#include <gmock/gmock.h>

#include "tests/vm/host_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Signature(DType dtype) {
  return "(\"x\": " + std::string(DTypeName(dtype)) + "[*]) -> (\"y\": " + std::string(DTypeName(dtype)) +
         "[*], \"indices\": i64[*], \"inverse\": i64[*], \"counts\": i64[*])";
}
std::string Body(int axis, bool sorted) {
  return "i0 = const " + std::to_string(axis) + "\n i1 = const " + std::to_string(sorted ? 1 : 0) +
         "\n [], [r1, r2, r3, r4] = host unique, [i0, i1], [r0]\n return [], [r1, r2, r3, r4]";
}
std::vector<Tensor> Unique(const Tensor& x, int axis, bool sorted) {
  auto outputs = RunHost(Signature(x.dtype()), Body(axis, sorted), {x});
  outputs.resize(4);
  return outputs;
}

TEST(Unique, AllElementsSorted) {
  auto outputs = Unique(Floats({2, 1, 1, 3, 4, 3}), -1, true);
  EXPECT_THAT(ToFloats(outputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ToInts(outputs[1]), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(ToInts(outputs[2]), ElementsAre(1, 0, 0, 2, 3, 2));
  EXPECT_THAT(ToInts(outputs[3]), ElementsAre(2, 1, 2, 1));
}

TEST(Unique, AllElementsInTheOrderOfTheirFirstOccurrence) {
  auto outputs = Unique(Shaped(Floats({2, 1, 1, 3, 4, 3}), Shape{2, 3}), -1, false);
  EXPECT_EQ(outputs[0].shape(), Shape{4});
  EXPECT_THAT(ToFloats(outputs[0]), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(ToInts(outputs[1]), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(ToInts(outputs[2]), ElementsAre(0, 1, 1, 2, 3, 2));
  EXPECT_THAT(ToInts(outputs[3]), ElementsAre(1, 2, 2, 1));
}

TEST(Unique, SlicesAlongAnAxis) {
  const Tensor x = Shaped(Ints({1, 0, 0, 1, 0, 0, 2, 3, 4}), Shape{3, 3});
  auto rows = Unique(x, 0, true);
  EXPECT_EQ(rows[0].shape(), (Shape{2, 3}));
  EXPECT_THAT(ToInts(rows[0]), ElementsAre(1, 0, 0, 2, 3, 4));
  EXPECT_THAT(ToInts(rows[1]), ElementsAre(0, 2));
  EXPECT_THAT(ToInts(rows[2]), ElementsAre(0, 0, 1));
  EXPECT_THAT(ToInts(rows[3]), ElementsAre(2, 1));
  auto columns = Unique(Shaped(Ints({1, 0, 0, 1, 0, 0, 2, 3, 3}), Shape{3, 3}), 1, true);
  EXPECT_EQ(columns[0].shape(), (Shape{3, 2}));
  EXPECT_THAT(ToInts(columns[0]), ElementsAre(0, 1, 0, 1, 3, 2));
  EXPECT_THAT(ToInts(columns[1]), ElementsAre(1, 0));
  EXPECT_THAT(ToInts(columns[2]), ElementsAre(1, 0, 0));
  EXPECT_THAT(ToInts(columns[3]), ElementsAre(2, 1));
}

TEST(Unique, StringsBoolsAndNotANumber) {
  auto texts = Unique(Texts({"b", "a long text that is no small string", "b"}), -1, true);
  EXPECT_THAT(texts[0].strings(), ElementsAre(StartsWith("a long"), "b"));
  EXPECT_THAT(ToInts(texts[3]), ElementsAre(1, 2));
  auto numbers = Unique(Floats({NAN, 1, NAN, -INFINITY}), -1, true);
  EXPECT_THAT(ToInts(numbers[1]), ElementsAre(3, 1, 0));
  EXPECT_THAT(ToInts(numbers[3]), ElementsAre(1, 1, 2));
  uint64_t large[] = {UINT64_MAX, 1};
  auto order = Unique(Tensor::Borrow(DType::kU64, Shape{2}, large), -1, true);
  EXPECT_THAT(ToInts(order[1]), ElementsAre(1, 0));
}

// They are read in parts.
TEST(Unique, LongItems) {
  const std::string text(200'000, 'a');
  auto texts = Unique(Texts({text + "b", text, text + "a", text, "b", text + "b"}), -1, true);
  EXPECT_THAT(texts[0].strings(), ElementsAre(text, text + "a", text + "b", "b"));
  EXPECT_THAT(ToInts(texts[1]), ElementsAre(1, 2, 0, 4));
  EXPECT_THAT(ToInts(texts[2]), ElementsAre(2, 0, 1, 0, 3, 2));
  EXPECT_THAT(ToInts(texts[3]), ElementsAre(2, 1, 2, 1));
  std::vector<float> numbers(4 * 10'000, 1);
  numbers[19'999] = numbers[39'999] = -1;
  auto rows = Unique(Shaped(Floats(numbers), Shape{4, 10'000}), 0, true);
  EXPECT_THAT(ToInts(rows[1]), ElementsAre(1, 0));
  EXPECT_THAT(ToInts(rows[2]), ElementsAre(1, 0, 1, 0));
}

TEST(Unique, OfNothingIsNothing) {
  auto outputs = Unique(Shaped(Ints({}), Shape{0, 3}), 0, true);
  EXPECT_EQ(outputs[0].shape(), (Shape{0, 3}));
  EXPECT_EQ(outputs[3].shape(), (Shape{0}));
}

// Longer than one sorted run.
TEST(Unique, ManyElements) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 100'000; ++i) values.push_back(i * 7919 % 1000);
  auto outputs = Unique(Ints(values), -1, true);
  ASSERT_EQ(outputs[0].element_count(), 1000);
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(ToInts(outputs[0])[static_cast<size_t>(i)], i);
  EXPECT_EQ(ToInts(outputs[3])[7], 100);
}

TEST(Unique, ChecksAxisAndBudget) {
  EXPECT_THAT(RunHostError(Signature(DType::kI64), Body(1, true), {Ints({1})}),
              HasSubstr("unique: axis 1 of a tensor of rank 1"));
  Limits limits;
  limits.max_bytes = 100'000;
  EXPECT_THAT(
      RunHostError(Signature(DType::kI64), Body(-1, true), {Ints(std::vector<int64_t>(10'000))}, limits),
      AllOf(StartsWith("out_of_memory"), HasSubstr("unique: scratch needs")));
}

}  // namespace
}  // namespace tvmvm
