// How a Vm counts the ends of its runs.
#include <gmock/gmock.h>

#include <thread>

#include "devices/null/null_device.h"
#include "tests/program_texts.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT

std::string TextOf(const RunCounters& counters) {
  return std::to_string(counters.ok) + " ok, " + std::to_string(counters.refused) + " refused, " +
         std::to_string(counters.limited) + " limited, " + std::to_string(counters.cancelled) +
         " cancelled, " + std::to_string(counters.lost) + " lost, " + std::to_string(counters.failed) +
         " failed";
}

TEST(Counters, EveryEndIsCountedOnce) {
  auto vm = VmFromText(kFactorial);
  ASSERT_NE(vm, nullptr);
  Invocation invocation = vm->NewInvocation();
  auto run = [&](std::vector<Tensor> inputs, const RunOptions& options = {}) {
    std::array outputs{Tensor()};
    return invocation.Run(inputs, outputs, options).has_value();
  };
  EXPECT_EQ(TextOf(vm->counters()), "0 ok, 0 refused, 0 limited, 0 cancelled, 0 lost, 0 failed");
  EXPECT_TRUE(run({Ints({5})}));
  EXPECT_TRUE(run({Ints({5})}));
  EXPECT_FALSE(run({}));
  EXPECT_FALSE(run({Ints({5, 6})}));
  EXPECT_FALSE(run({Ints({1000})})) << "its factorial is too large";
  EXPECT_TRUE(invocation.SetLimits({.max_steps = 10}));
  EXPECT_FALSE(run({Ints({9})}));
  EXPECT_TRUE(invocation.SetLimits({.max_bytes = 1}));
  EXPECT_FALSE(run({Ints({9})}));
  EXPECT_TRUE(invocation.SetLimits({}));
  invocation.Cancel();
  EXPECT_FALSE(run({Ints({9})}));
  EXPECT_TRUE(run({Ints({9})}));
  EXPECT_EQ(TextOf(vm->counters()), "3 ok, 3 refused, 2 limited, 1 cancelled, 0 lost, 0 failed");
}

TEST(Counters, AreOfAllInvocationsAndThreads) {
  auto vm = VmFromText(kAddOne);
  ASSERT_NE(vm, nullptr);
  constexpr int kThreads = 4, kRuns = 500;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      Invocation invocation = vm->NewInvocation();
      for (int k = 0; k < kRuns; ++k) {
        std::array inputs{Ints({k})};
        std::array outputs{Tensor()};
        EXPECT_TRUE(invocation.Run(inputs, outputs));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(vm->counters().ok, kThreads * kRuns) << "Invocations that are gone count, too";
  auto another = VmFromText(kAddOne);
  EXPECT_EQ(another->counters().ok, 0);
}

}  // namespace
}  // namespace tvmvm
