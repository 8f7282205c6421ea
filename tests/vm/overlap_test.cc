// Memory that a caller gives for outputs is apart from all else.
#include <gmock/gmock.h>

#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;

// y = x, z = x, both i64[n].
constexpr std::string_view kTwice = R"---(
entry @main
func @main("x": i64[n]) -> ("y": i64[n], "z": i64[n]) frame 4, 4 {
  i0 = dim r0, 0
  i1 = const 8
  i1 = mul i0, i1
  r1 = output 0, [i0]
  r2 = output 1, [i0]
  copy [r1, r0], i1
  copy [r2, r0], i1
  return [], [r1, r2]
}
)---";

Tensor Part(const Tensor& of, int64_t from, int64_t count) {
  return Tensor::Borrow(DType::kI64, Shape{count}, static_cast<int64_t*>(of.data()) + from);
}

std::string RunTwice(const Tensor& x, const Tensor& y, const Tensor& z) {
  auto vm = VmFromText(kTwice);
  if (!vm) return "no vm";
  std::array outputs{y, z};
  return TextOf(vm->NewInvocation().Run(std::array{x}, outputs));
}

TEST(Overlap, OutputsAreApartFromInputs) {
  const Tensor memory = Ints(std::vector<int64_t>(12));
  const std::string refused =
      "invalid_argument: input 0 'x' and output 0 'y' share memory; what a run writes must be apart from all "
      "else";
  EXPECT_EQ(RunTwice(memory, memory, Tensor()), refused);
  EXPECT_EQ(RunTwice(Part(memory, 0, 4), Part(memory, 3, 4), Tensor()), refused);
  EXPECT_EQ(RunTwice(Part(memory, 3, 4), Part(memory, 0, 4), Tensor()), refused);
  EXPECT_EQ(RunTwice(Part(memory, 4, 4), Part(memory, 0, 4), Part(memory, 8, 4)), "") << "side by side";
  EXPECT_EQ(RunTwice(Part(memory, 4, 0), Part(memory, 4, 0), Part(memory, 4, 0)), "") << "nothing at all";
  auto vm = VmFromText(R"---(
entry @main
func @main("x": i64[n]) -> ("y": i64[4]) frame 4, 4 {
  i0 = const 4
  r1 = output 0, [i0]
  return [], [r1]
}
)---");
  ASSERT_TRUE(vm);
  std::array outputs{Part(memory, 0, 4)};
  EXPECT_EQ(TextOf(vm->NewInvocation().Run(std::array{Part(memory, 2, 0)}, outputs)), "") << "nothing within";
}

TEST(Overlap, OutputsAreApartFromOneAnother) {
  const Tensor memory = Ints(std::vector<int64_t>(12)), x = Ints({1, 2, 3, 4});
  const std::string refused =
      "invalid_argument: output 0 'y' and output 1 'z' share memory; what a run writes must be apart from "
      "all else";
  EXPECT_EQ(RunTwice(x, Part(memory, 0, 4), Part(memory, 0, 4)), refused);
  EXPECT_EQ(RunTwice(x, Part(memory, 1, 4), Part(memory, 4, 4)), refused);
  EXPECT_EQ(RunTwice(x, Part(memory, 4, 4), Part(memory, 0, 4)), "");
}

TEST(Overlap, OutputsAreApartFromElementsOfSequences) {
  auto vm = VmFromText(R"---(
entry @main
func @main("s": sequence<i64[n]>) -> ("y": i64[]) frame 2, 4 {
  r1 = output 0, []
  return [], [r1]
}
)---");
  ASSERT_TRUE(vm);
  const Tensor memory = Ints({1, 2, 3});
  const Value inner = Value::Sequence({Value(Ints({1})), Value(Part(memory, 0, 2))});
  std::array outputs{Value(Tensor::Borrow(DType::kI64, Shape(), memory.data()))};
  EXPECT_EQ(
      TextOf(vm->NewInvocation().Run(std::array{inner}, outputs)),
      "invalid_argument: input 0 's' and output 0 'y' share memory; what a run writes must be apart from "
      "all else");
}

TEST(Overlap, StringsAreApartToo) {
  auto vm = VmFromText(R"---(
entry @main
func @main("x": string[n]) -> ("y": string[n]) frame 2, 4 {
  i0 = dim r0, 0
  r1 = output 0, [i0]
  return [], [r1]
}
)---");
  ASSERT_TRUE(vm);
  const Tensor texts = Tensor::FromStrings(Shape{2}, {"a", "b"});
  std::array outputs{texts};
  EXPECT_EQ(
      TextOf(vm->NewInvocation().Run(std::array{texts}, outputs)),
      "invalid_argument: input 0 'x' and output 0 'y' share memory; what a run writes must be apart from "
      "all else");
}

}  // namespace
}  // namespace tvmvm
