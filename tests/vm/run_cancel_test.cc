// RunOptions::cancel: a token ends the runs that it is given to, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/vm/allocation_count.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Counts to x.
constexpr std::string_view kCount = R"---(
entry @main
func @main("x": i64[1]) -> ("y": i64[1]) frame 5, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
  i3 = const 0
again:
  i3 = add i3, i1
  i4 = lt i3, i2
  branch.if i4, again
  store r1, i0, i64, i3
  return [], [r1]
}
)---";
constexpr int64_t kForever = INT64_MAX;

std::string Count(Invocation& invocation, int64_t x, const RunOptions& options = {}) {
  std::array outputs{Tensor()};
  return TextOf(invocation.Run(std::array{Ints({x})}, outputs, options));
}

std::jthread StopSoon(std::stop_source& source) {
  return std::jthread([&source] {
    std::this_thread::sleep_for(20ms);
    source.request_stop();
  });
}

TEST(RunCancel, BeforeARunItDoesNotBegin) {
  auto vm = VmFromText(kCount);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::stop_source source;
  source.request_stop();
  std::array outputs{Tensor()};
  EXPECT_EQ(TextOf(invocation.Run(std::array{Ints({3})}, outputs, {.cancel = source.get_token()})),
            "cancelled: cancelled");
  EXPECT_TRUE(outputs[0].empty_handle());
  EXPECT_EQ(Count(invocation, 3), "") << "the next run has no token";
  EXPECT_EQ(Count(invocation, 3, {.cancel = source.get_token()}), "cancelled: cancelled") << "it stays so";
  EXPECT_EQ(vm->counters().cancelled, 2);
}

TEST(RunCancel, EndsALoop) {
  auto vm = VmFromText(kCount);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::stop_source source;
  const std::jthread other = StopSoon(source);
  EXPECT_THAT(Count(invocation, kForever, {.cancel = source.get_token()}), HasSubstr("cancelled: @main:"));
  EXPECT_EQ(Count(invocation, 3), "");
}

TEST(RunCancel, EndsRecursion) {
  auto vm = VmFromText(R"---(
entry @main
func @twice() -> () scalars 1 -> 1 frame 3, 0 {
  i1 = const 1
  branch.ifnot i0, base
  i2 = sub i0, i1
  [i2], [] = call @twice, [i2], []
  i2 = sub i0, i1
  [i2], [] = call @twice, [i2], []
base:
  return [i0], []
}
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
  [i2], [] = call @twice, [i2], []
  store r1, i0, i64, i2
  return [], [r1]
}
)---");
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::stop_source source;
  const std::jthread other = StopSoon(source);
  EXPECT_THAT(Count(invocation, 100, {.cancel = source.get_token()}), HasSubstr("cancelled: @twice:"));
}

// A kernel that never ends by itself asks as a compiled one does.
TEST(RunCancel, EndsAKernelThatAsks) {
  VmOptions options = TestOptions();
  static std::atomic<int> launches;
  options.jit = std::make_shared<TestJit>(
      std::map<std::string, KernelFunction>{{"add", [](const KernelArgs* args, int64_t, int64_t) -> int32_t {
                                               ++launches;
                                               while (args->poll->ask(args->poll) == 0) {
                                               }
                                               return kStopped;
                                             }}});
  auto vm = VmFromText(R"---(
entry @main
kernel @add cpu symbol "add" scalars 1 buffers [read, write]
func @main("x": i64[k]) -> ("y": i64[k]) frame 10, 3 {
  i0 = const 0
  i1 = const 1
  i2 = dim r0, 0
  r1 = output 0, [i2]
  launch @add, 0, [i1, i1, i1, i0, i0, i0], [i1], [r0, r1]
  return [], [r1]
}
)---",
                       options);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::stop_source source;
  {
    const std::jthread other = StopSoon(source);
    EXPECT_THAT(Count(invocation, 1, {.cancel = source.get_token()}), HasSubstr("launch: cancelled"));
  }
  EXPECT_EQ(launches, 1);
  EXPECT_EQ(Count(invocation, 1, {.cancel = source.get_token()}), "cancelled: cancelled");
  EXPECT_EQ(launches, 1) << "nothing begins";
}

TEST(RunCancel, BehindARunItEndsNoOther) {
  auto vm = VmFromText(kCount);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  for (int round = 0; round < 3; ++round) {
    std::stop_source source;
    EXPECT_EQ(Count(invocation, 3, {.cancel = source.get_token()}), "");
    source.request_stop();
  }
  std::stop_source another;
  EXPECT_EQ(Count(invocation, 3, {.cancel = another.get_token()}), "");
  EXPECT_EQ(Count(invocation, 3), "");
}

TEST(RunCancel, OneTokenEndsRunsOfSeveralInvocations) {
  auto vm = VmFromText(kCount);
  ASSERT_TRUE(vm);
  std::stop_source shared, own;
  std::atomic<bool> goes_on{true};
  std::jthread apart([&] {
    Invocation invocation = vm->NewInvocation();
    EXPECT_THAT(Count(invocation, kForever, {.cancel = own.get_token()}), HasSubstr("cancelled"));
    goes_on = false;
  });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        Invocation invocation = vm->NewInvocation();
        EXPECT_THAT(Count(invocation, kForever, {.cancel = shared.get_token()}), HasSubstr("cancelled"));
        EXPECT_EQ(Count(invocation, 3, {.cancel = own.get_token()}), "");
      });
    std::this_thread::sleep_for(20ms);
    shared.request_stop();
  }
  EXPECT_TRUE(goes_on);
  own.request_stop();
}

// The end of each run and the request for it come in any order.
TEST(RunCancel, RacesEndNoRunButTheirOwn) {
  auto vm = VmFromText(kCount);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  int cancelled = 0;
  for (int round = 0; round < 300; ++round) {
    std::stop_source source;
    std::atomic<bool> begins{false};
    std::jthread other([&] {
      while (!begins) std::this_thread::yield();
      source.request_stop();
    });
    begins = true;
    const std::string text = Count(invocation, 1 + (round % 30) * 1000, {.cancel = source.get_token()});
    if (!text.empty()) ++cancelled;
    EXPECT_TRUE(text.empty() || text.starts_with("cancelled")) << text;
    EXPECT_EQ(Count(invocation, 3), "");
  }
  EXPECT_EQ(vm->counters().cancelled, cancelled);
}

TEST(RunCancel, CancelAndDeadlineCountBesideIt) {
  auto vm = VmFromText(kCount);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::stop_source source;
  const std::jthread other([&] {
    std::this_thread::sleep_for(20ms);
    invocation.Cancel();
  });
  EXPECT_THAT(Count(invocation, kForever, {.cancel = source.get_token()}), HasSubstr("cancelled"));
  EXPECT_THAT(Count(invocation, kForever,
                    {.deadline = std::chrono::steady_clock::now() + 5ms, .cancel = source.get_token()}),
              HasSubstr("the deadline of the run is reached"));
  ASSERT_TRUE(invocation.SetLimits({.max_steps = 1000}));
  EXPECT_THAT(Count(invocation, kForever, {.cancel = source.get_token()}),
              HasSubstr("the limit of 1000 steps is reached"));
}

TEST(RunCancel, AWarmRunWithATokenAllocatesNothing) {
  auto vm = VmFromText(kCount);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::stop_source source;
  const RunOptions options{.cancel = source.get_token()};
  std::array inputs{Ints({3})};
  std::array outputs{Ints({0})};
  ASSERT_TRUE(invocation.Run(inputs, outputs, options));
  const int64_t before = AllocationCount();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(invocation.Run(inputs, outputs, options));
  EXPECT_EQ(AllocationCount(), before);
}

}  // namespace
}  // namespace tvmvm
