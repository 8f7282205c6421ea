// Loops, calls, recursion, guards and limits.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/program_texts.h"
#include "tests/sanitizer.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Depth of recursion given by the input; no arithmetic that overflows.
constexpr std::string_view kDeep = R"---(
entry @main
func @count() -> () scalars 1 -> 1 frame 3, 0 {
  i1 = const 1
  branch.ifnot i0, base
  i2 = sub i0, i1
  [i2], [] = call @count, [i2], []
  i2 = add i2, i1
  return [i2], []
base:
  return [i0], []
}
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
  node "/deep (Call)"
  [i2], [] = call @count, [i2], []
  store r1, i0, i64, i2
  return [], [r1]
}
)---";

constexpr std::string_view kFibonacci = R"---(
entry @main
func @fib() -> () scalars 1 -> 1 frame 6, 0 {
  i1 = const 2
  i2 = lt i0, i1
  branch.if i2, base
  i3 = const 1
  i4 = sub i0, i3
  i5 = sub i0, i1
  [i4], [] = call @fib, [i4], []
  [i5], [] = call @fib, [i5], []
  i0 = add i4, i5
base:
  return [i0], []
}
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
  [i2], [] = call @fib, [i2], []
  store r1, i0, i64, i2
  return [], [r1]
}
)---";

// Counts to x[0].
constexpr std::string_view kLoop = R"---(
entry @main
func @main("x": i64[1]) -> ("y": i64[1]) frame 5, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
  i3 = const 0
  node "/loop (Loop)"
again:
  i3 = add i3, i1
  i4 = lt i3, i2
  branch.if i4, again
  store r1, i0, i64, i3
  return [], [r1]
}
)---";

TEST(Control, Recursion) {
  EXPECT_THAT(RunInts(kFactorial, {Ints({5})}), ElementsAre(120));
  EXPECT_THAT(RunInts(kFactorial, {Ints({20})}), ElementsAre(2432902008176640000));
  EXPECT_THAT(RunInts(kFibonacci, {Ints({20})}), ElementsAre(6765));
}

TEST(Control, DepthIsOfTheHeapNotOfTheMachineStack) {
  EXPECT_THAT(RunInts(kDeep, {Ints({500'000})}), ElementsAre(500'000));
}

TEST(Control, DepthHasALimit) {
  Limits limits;
  limits.max_call_depth = 100;
  const std::string error = RunError(kDeep, {Ints({100})}, limits);
  EXPECT_THAT(error, HasSubstr("invalid_argument: @count:"));
  EXPECT_THAT(error, HasSubstr("call: the limit of 100 nested calls is reached"));
  EXPECT_EQ(RunError(kDeep, {Ints({98})}, limits), "");
  EXPECT_THAT(RunError(kDeep, {Ints({kMaxRank * 1'000'000})}),
              HasSubstr("the limit of 1048576 nested calls"));
}

TEST(Control, ZeroAndMaxMeanNoLimit) {
  Limits limits;
  limits.max_call_depth = 0;
  limits.timeout = std::chrono::nanoseconds::max();
  EXPECT_EQ(RunError(kDeep, {Ints({1000})}, limits), "");
}

TEST(Control, StacksCountAsMemory) {
  Limits limits;
  limits.max_bytes = 100'000;
  EXPECT_THAT(RunError(kDeep, {Ints({500'000})}, limits), HasSubstr("out_of_memory: @count:"));
}

TEST(Control, Loops) {
  EXPECT_THAT(RunInts(kLoop, {Ints({1000})}), ElementsAre(1000));
  EXPECT_THAT(RunInts(kLoop, {Ints({-5})}), ElementsAre(1));
}

TEST(Control, StepsHaveALimit) {
  Limits limits;
  limits.max_steps = 1000;
  EXPECT_EQ(RunError(kLoop, {Ints({100})}, limits), "");
  const std::string error = RunError(kLoop, {Ints({100'000})}, limits);
  EXPECT_THAT(error, HasSubstr("deadline_exceeded: @main:"));
  EXPECT_THAT(error, HasSubstr("branch.if: the limit of 1000 steps is reached (node /loop (Loop))"));
  EXPECT_THAT(RunError(kFibonacci, {Ints({25})}, limits), HasSubstr("the limit of 1000 steps"));
}

TEST(Control, TimeHasALimitAndTheInvocationLivesOn) {
  auto vm = VmFromText(kLoop);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  Limits limits;
  limits.timeout = std::chrono::milliseconds(20);
  invocation.SetLimits(limits);
  std::array outputs{Tensor()};
  const auto begin = std::chrono::steady_clock::now();
  Status status = invocation.Run(std::array{Ints({INT64_MAX})}, outputs);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kHang);
  EXPECT_THAT(TextOf(status), HasSubstr("deadline_exceeded"));
  EXPECT_THAT(TextOf(status), HasSubstr("the limit of 20000 microseconds is reached"));
  EXPECT_TRUE(outputs[0].empty_handle());
  EXPECT_EQ(TextOf(invocation.Run(std::array{Ints({3})}, outputs)), "");
}

TEST(Control, AnotherThreadCancels) {
  auto vm = VmFromText(kLoop);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    invocation.Cancel();
  });
  std::array outputs{Tensor()};
  Status status = invocation.Run(std::array{Ints({INT64_MAX})}, outputs);
  other.join();
  EXPECT_THAT(TextOf(status), HasSubstr("cancelled: @main:"));
  EXPECT_EQ(TextOf(invocation.Run(std::array{Ints({3})}, outputs)), "");
}

TEST(Control, CancelBeforeARunEndsTheNextOne) {
  auto vm = VmFromText(kLoop);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  invocation.Cancel();
  std::array outputs{Tensor()};
  EXPECT_THAT(TextOf(invocation.Run(std::array{Ints({3})}, outputs)), HasSubstr("cancelled"));
  EXPECT_EQ(TextOf(invocation.Run(std::array{Ints({3})}, outputs)), "");
}

TEST(Control, GuardsFillInTheirNumbers) {
  constexpr std::string_view kGuard = R"---(
entry @main
func @main("x": i64[k]) -> ("y": i64[1]) frame 4, 2 {
  i0 = const 0
  i1 = const 1
  i2 = dim r0, 0
  i3 = le i2, i1
  node "/check (Guard)"
  guard i3, "x has {0} elements {{}, at most {1} {2} {x} {0", [i2, i1]
  r1 = output 0, [i1]
  store r1, i0, i64, i2
  return [], [r1]
}
)---";
  EXPECT_EQ(RunError(kGuard, {Ints({7})}), "");
  EXPECT_THAT(RunError(kGuard, {Ints({7, 8, 9})}),
              HasSubstr("guard: x has 3 elements {{}, at most 1 {2} {x} {0 (node /check (Guard))"));
}

TEST(Control, CallsPassReferences) {
  constexpr std::string_view kCalls = R"---(
entry @main
func @swap("a": i64[1], "b": i64[1]) -> ("a": i64[1], "b": i64[1]) frame 0, 2 {
  return [], [r1, r0]
}
func @make() -> ("": i64[2]) scalars 1 -> 0 frame 3, 1 {
  i1 = const 2
  i2 = const 8
  r0 = output 0, [i1]
  store r0, i2, i64, i0
  return [], [r0]
}
func @main("x": i64[1], "z": i64[1]) -> ("y": i64[1], "z": i64[1], "t": i64[2]) frame 1, 4 {
  [], [r2, r3] = call @swap, [], [r0, r1]
  i0 = const 42
  [], [r0] = call @make, [i0], []
  return [], [r2, r3, r0]
}
)---";
  auto vm = VmFromText(kCalls);
  ASSERT_TRUE(vm);
  std::array<Tensor, 3> outputs;
  const std::array inputs{Ints({1}), Ints({2})};
  ASSERT_EQ(TextOf(vm->NewInvocation().Run(inputs, outputs)), "");
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(2));
  EXPECT_THAT(ToInts(outputs[1]), ElementsAre(1));
  EXPECT_EQ(ToInts(outputs[2])[1], 42);
  EXPECT_NE(outputs[0].data(), inputs[1].data()) << "an input given back is a copy";
}

}  // namespace
}  // namespace tvmvm
