// Pools that are waited for, and Invocations that give back by themselves.
#include "tvm-vm/memory_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "allocator/account.h"
#include "tests/sanitizer.h"
#include "tests/vm/c_api_session.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Patient final : public MemoryWaiter {
 public:
  bool GivesUp() const override { return gave_up.load(); }
  std::atomic<bool> gave_up{false};
};

template <class Condition>
void WaitUntil(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

TEST(MemoryAccount, IsTakenInTheOrderInWhichItWasAskedFor) {
  MemoryAccount account("the pool", nullptr, 100);
  account.set_max_wait(kHang);
  ASSERT_TRUE(account.Reserve(100, "all"));
  Patient patient;
  std::vector<std::jthread> threads;
  for (const int64_t bytes : {60, 10, 30}) {
    const int before = account.waiting();
    threads.emplace_back([&, bytes] { EXPECT_TRUE(account.Reserve(bytes, "a part", &patient)); });
    WaitUntil([&] { return account.waiting() == before + 1; });
  }
  account.Release(50);  // enough for the later ones, who do not go before the first
  EXPECT_EQ(account.waiting(), 3);
  EXPECT_EQ(account.held_bytes(), 50);
  account.Release(10);
  WaitUntil([&] { return account.waiting() == 2; });
  EXPECT_EQ(account.held_bytes(), 100);
  account.Release(40);
  threads.clear();
  EXPECT_EQ(account.held_bytes(), 100);
  EXPECT_EQ(account.peak_bytes(), 100);
  account.Release(100);
}

TEST(MemoryAccount, RefusesAtOnceWhatCanNeverBe) {
  MemoryAccount account("the pool", nullptr, 100);
  account.set_max_wait(kHang);
  Patient patient;
  const Status status = account.Reserve(101, "too much", &patient);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "too much needs 101 bytes; 0 bytes are in use by the pool and the limit is 100");
}

TEST(MemoryAccount, SaysWhatWasWantedHeldAndAllowedWhenTheWaitIsOver) {
  MemoryAccount account("the pool", nullptr, 100);
  account.set_max_wait(std::chrono::milliseconds(1));
  Patient patient;
  ASSERT_TRUE(account.Reserve(80, "most", &patient));
  const Status status = account.Reserve(30, "more", &patient);
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error().message,
      "more needs 30 bytes; 80 bytes are in use by the pool and the limit is 100; the wait for more was "
      "in vain");
  EXPECT_EQ(account.waiting(), 0);
  account.Release(80);
}

TEST(MemoryAccount, WhoGivesUpLetsOthersGoOn) {
  auto pool = std::make_shared<MemoryAccount>("the pool", nullptr, 100);
  pool->set_max_wait(kHang);
  MemoryAccount first({}, pool), second({}, pool);
  Patient impatient, patient;
  first.set_waiter(&impatient);
  second.set_waiter(&patient);
  ASSERT_TRUE(pool->Reserve(80, "most"));
  std::jthread large([&] { EXPECT_FALSE(first.Reserve(90, "much")); });
  WaitUntil([&] { return pool->waiting() == 1; });
  std::jthread small([&] { EXPECT_TRUE(second.Reserve(20, "little")); });
  WaitUntil([&] { return pool->waiting() == 2; });
  EXPECT_TRUE(first.is_awaited());
  impatient.gave_up = true;
  large.join();
  small.join();
  EXPECT_FALSE(first.is_awaited());
  EXPECT_EQ(first.held_bytes(), 0);
  EXPECT_EQ(second.held_bytes(), 20);
  EXPECT_EQ(pool->held_bytes(), 100);
  pool->Release(80);
}

// ---- runs ----

std::string Body(std::string_view body) {
  return "entry @main\nfunc @main(\"x\": i64[k]) -> (\"y\": i64[1]) frame 20, 10 {\n  i0 = const 0\n  i1 = "
         "const 1\n"
         "  r1 = output 0, [i1]\n" +
         std::string(body) + "  return [], [r1]\n}\n";
}

const std::string kText =
    Body("  i3 = const 4000\n  r2 = arena i3\n  r3 = alloc u8, [i3]\n  store r1, i0, i64, i3\n");

std::string RunOnce(Invocation& invocation, const RunOptions& options = {}) {
  std::array outputs{Tensor()};
  return TextOf(invocation.Run(std::array{Ints({1})}, outputs, options));
}

struct Service {
  explicit Service(std::chrono::nanoseconds max_wait, const std::string& text = kText)
      : pool(MemoryPool::Create({.max_bytes = 14'000, .name = "the pool", .max_wait = max_wait})) {
    VmOptions options = TestOptions();
    options.memory = pool;
    for (auto& vm : vms) vm = VmFromText(text, options);
  }
  std::shared_ptr<MemoryPool> pool;
  std::array<std::shared_ptr<Vm>, 2> vms;
};

TEST(MemoryPool, RunsWaitForWhatOthersGiveBack) {
  Service service(kHang);
  Invocation first = service.vms[0]->NewInvocation(), second = service.vms[1]->NewInvocation();
  EXPECT_EQ(RunOnce(first), "");  // keeps its arena and its registers
  std::jthread other([&] { EXPECT_EQ(RunOnce(second), ""); });
  WaitUntil([&] { return service.pool->waiting() == 1; });
  ASSERT_TRUE(first.Trim());
  other.join();
  EXPECT_EQ(service.pool->waiting(), 0);
  EXPECT_EQ(service.pool->held_bytes(), second.held_bytes());
}

TEST(MemoryPool, RunsWaitUntilTheirDeadline) {
  Service service(kHang);
  Invocation first = service.vms[0]->NewInvocation(), second = service.vms[1]->NewInvocation();
  EXPECT_EQ(RunOnce(first), "");
  const RunOptions soon{.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20)};
  const std::string message = RunOnce(second, soon);
  EXPECT_THAT(
      message,
      HasSubstr("bytes are in use by the pool and the limit is 14000; the wait for more was in vain"));
  ASSERT_TRUE(first.Trim());
  EXPECT_EQ(RunOnce(second), "") << "it can be used again";
}

TEST(MemoryPool, WaitingRunsCanBeCancelled) {
  Service service(kHang);
  Invocation first = service.vms[0]->NewInvocation(), second = service.vms[1]->NewInvocation();
  EXPECT_EQ(RunOnce(first), "");
  std::jthread other([&] { EXPECT_THAT(RunOnce(second), HasSubstr("cancelled")); });
  WaitUntil([&] { return service.pool->waiting() == 1; });
  second.Cancel();
  other.join();
  ASSERT_TRUE(first.Trim());
  EXPECT_EQ(RunOnce(second), "") << "the cancel was for the other run";
}

TEST(MemoryPool, WaitingRunsEndByTheirTokens) {
  Service service(kHang);
  Invocation first = service.vms[0]->NewInvocation(), second = service.vms[1]->NewInvocation();
  EXPECT_EQ(RunOnce(first), "");
  std::stop_source source;
  std::jthread other(
      [&] { EXPECT_EQ(RunOnce(second, {.cancel = source.get_token()}), "cancelled: cancelled"); });
  WaitUntil([&] { return service.pool->waiting() == 1; });
  source.request_stop();
  other.join();
  ASSERT_TRUE(first.Trim());
  EXPECT_EQ(RunOnce(second), "");
}

// A run that wants nothing of the pool, as it has it from before.
TEST(MemoryPool, WhoEndsWhileOthersWaitGivesBack) {
  Service service(kHang, Body("  i3 = const 4000\n  r2 = arena i3\n  store r1, i0, i64, i3\n"));
  Invocation first = service.vms[0]->NewInvocation(), second = service.vms[1]->NewInvocation();
  EXPECT_EQ(RunOnce(first), "");
  std::jthread other([&] { EXPECT_EQ(RunOnce(second), ""); });
  WaitUntil([&] { return service.pool->waiting() == 1; });
  std::array outputs{Ints({0})};
  EXPECT_EQ(TextOf(first.Run(std::array{Ints({1})}, outputs)), "");
  other.join();
  EXPECT_EQ(first.held_bytes(), 0);
}

// ---- giving back ----

TEST(TrimPolicy, AfterSoManyRuns) {
  auto vm = VmFromText(kText, TestOptions());
  Invocation invocation = vm->NewInvocation();
  ASSERT_TRUE(invocation.SetTrimPolicy({.runs = 3}));
  std::vector<bool> holds;
  for (int run = 0; run < 6; ++run) {
    EXPECT_EQ(RunOnce(invocation), "");
    holds.push_back(invocation.held_bytes() > 0);
  }
  EXPECT_THAT(holds, ElementsAre(true, true, false, true, true, false));
}

TEST(TrimPolicy, AboveAHighWater) {
  auto vm = VmFromText(kText, TestOptions());
  Invocation invocation = vm->NewInvocation();
  EXPECT_EQ(RunOnce(invocation), "");
  const int64_t held = invocation.held_bytes();
  ASSERT_TRUE(invocation.SetTrimPolicy({.held_bytes = held}));
  EXPECT_EQ(RunOnce(invocation), "");
  EXPECT_EQ(invocation.held_bytes(), held);
  ASSERT_TRUE(invocation.SetTrimPolicy({.held_bytes = held - 1}));
  EXPECT_EQ(RunOnce(invocation), "");
  EXPECT_EQ(invocation.held_bytes(), 0);
}

// The arena that is held was made for smaller sizes after a pause, which is any time at all.
TEST(TrimPolicy, AfterIdleTime) {
  auto vm =
      VmFromText(Body("i3 = dim r0, 0\n i4 = const 4096\n i3 = mul i3, i4\n r2 = arena i3\n"), TestOptions());
  ASSERT_TRUE(vm);
  auto run = [&](Invocation& invocation, size_t n) {
    std::array outputs{Tensor()};
    EXPECT_EQ(TextOf(invocation.Run(std::array{Ints(std::vector<int64_t>(n))}, outputs)), "");
    return invocation.arena_bytes();
  };
  Invocation keeps = vm->NewInvocation(), gives = vm->NewInvocation();
  ASSERT_TRUE(keeps.SetTrimPolicy({.idle = std::chrono::hours(1000)}));
  ASSERT_TRUE(gives.SetTrimPolicy({.idle = std::chrono::nanoseconds(1)}));
  const int64_t large = run(keeps, 100);
  EXPECT_EQ(run(keeps, 1), large);
  run(gives, 100);
  EXPECT_LT(run(gives, 1), large);
}

TEST(TrimPolicy, FromC) {
  tvmvm_memory_pool_options options = {};
  options.size = sizeof options;
  options.max_wait_ns = -1;
  tvmvm_memory_pool* pool = nullptr;
  EXPECT_THAT(Take(tvmvm_memory_pool_open(&options, &pool)), HasSubstr("max_wait_ns is -1"));
  options.max_wait_ns = 1000;
  options.max_bytes = 20'000;
  options.name = "ours";
  ASSERT_EQ(Take(tvmvm_memory_pool_open(&options, &pool)), "");
  tvmvm_memory_pool_free(pool);
}

}  // namespace
}  // namespace tvmvm
