// Eight threads that share Vms, a pool of workers and one of memory, with limits, deadlines and cancels at
// random, and with Vms, Invocations and results that end in any order. For ThreadSanitizer, too.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/tries.h"
#include "tests/vm/host_program.h"
#include "tvm-vm/cpu_device.h"
#include "tvm-vm/memory_pool.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using namespace std::chrono_literals;

constexpr size_t kThreads = 8, kVms = 3, kKept = 16;

// y = x + x[0], in x[0] launches, and x by way of a sequence.
constexpr std::string_view kText = R"---(
entry @main
kernel @add cpu symbol "add" scalars 1 buffers [read, write]
func @main("x": i64[k]) -> ("y": i64[k], "z": i64[k]) frame 10, 6 {
  i0 = const 0
  i1 = const 1
  i2 = dim r0, 0
  i3 = load r0, i0, i64
  r1 = move.ref r0
  i4 = const 0
again:
  r2 = alloc i64, [i2]
  launch @add, 0, [i2, i1, i1, i0, i0, i0], [i1], [r1, r2]
  r1 = move.ref r2
  i4 = add i4, i1
  i5 = lt i4, i3
  branch.if i5, again
  [], [r3] = host sequence.construct, [], [r0, r1]
  [], [r4] = host sequence.at, [i0], [r3]
  return [], [r1, r4]
}
)---";

int32_t AddInts(const KernelArgs* args, int64_t begin, int64_t end) {
  auto x = static_cast<const int64_t*>(args->buffers[0]);
  auto y = static_cast<int64_t*>(args->buffers[1]);
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] + args->scalars[0];
  return 0;
}

class Service {
 public:
  Service()
      : memory_(MemoryPool::Create({.max_bytes = 400'000, .name = "the pool", .max_wait = 2ms})),
        workers_(CreateWorkerPool(4)) {
    for (auto& vm : vms_) vm = MakeVm();
  }

  std::shared_ptr<MemoryPool> memory() { return memory_; }

  std::shared_ptr<Vm> Pick(std::mt19937& random) {
    std::shared_ptr<Vm> gone;  // ends when the lock is given back
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Vm>& vm = vms_[random() % kVms];
    if (random() % 50 == 0) gone = std::exchange(vm, MakeVm());
    return vm;
  }

  // In place of what some thread kept before, which goes.
  void Keep(std::mt19937& random, std::array<Tensor, 2> results) {
    const std::lock_guard lock(mutex_);
    std::swap(kept_[random() % kKept], results);
  }

 private:
  std::shared_ptr<Vm> MakeVm() const {
    VmOptions options;
    options.pool = workers_;
    options.memory = memory_;
    options.jit = std::make_shared<TestJit>(std::map<std::string, KernelFunction>{{"add", &AddInts}});
    return VmFromText(WithNumbers(kText), options);
  }

  std::shared_ptr<MemoryPool> memory_;
  std::shared_ptr<WorkerPool> workers_;
  std::mutex mutex_;
  std::array<std::shared_ptr<Vm>, kVms> vms_;
  std::array<std::array<Tensor, 2>, kKept> kept_;
};

// What others end of a thread's run: by its token, or by its Invocation.
class Target {
 public:
  std::stop_token Begin(Invocation* invocation) {
    const std::lock_guard lock(mutex_);
    source_ = std::stop_source();
    invocation_ = invocation;
    return source_.get_token();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    invocation_ = nullptr;
  }
  void Strike(bool by_token) {
    const std::lock_guard lock(mutex_);
    if (by_token)
      source_.request_stop();
    else if (invocation_ != nullptr)
      invocation_->Cancel();
  }

 private:
  std::mutex mutex_;
  std::stop_source source_;
  Invocation* invocation_ = nullptr;
};

struct Ends {
  int ran = 0, cancelled = 0, late = 0, limited = 0;
  std::string problem;
};

class Client {
 public:
  Client(Service& service, std::array<Target, kThreads>& targets, size_t number)
      : service_(service), targets_(targets), number_(number), random_(static_cast<uint32_t>(number)) {}

  Ends Work(uint32_t runs) {
    for (uint32_t run = 0; run < runs && ends_.problem.empty(); ++run) {
      if (!invocation_ || random_() % 10 == 0) {
        std::shared_ptr<Vm> vm = service_.Pick(random_);
        if (!vm) return ends_;
        invocation_.emplace(vm->NewInvocation());  // of a Vm that may have no other owner
      }
      if (random_() % 4 == 0) targets_[random_() % kThreads].Strike(random_() % 2 == 0);
      if (random_() % 30 == 0) Expect(invocation_->Trim().has_value(), "trimming fails");
      RunOnce();
    }
    return ends_;
  }

 private:
  void Expect(bool holds, std::string problem) {
    if (!holds) ends_.problem = std::move(problem);
  }

  void RunOnce() {
    Limits limits;
    if (random_() % 8 == 0) limits.max_bytes = 1 + random_() % 20'000;
    if (random_() % 8 == 0) limits.max_steps = 1 + random_() % 400;
    if (random_() % 8 == 0) limits.timeout = std::chrono::microseconds(1 + random_() % 300);
    Expect(invocation_->SetLimits(limits).has_value(), "limits are refused");
    RunOptions options;
    if (random_() % 8 == 0)
      options.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(random_() % 300);
    options.cancel = targets_[number_].Begin(&*invocation_);
    const int64_t turns = 1 + random_() % 100;
    std::vector<int64_t> numbers(1 + random_() % 600, static_cast<int64_t>(random_() % 1000));
    numbers[0] = turns;
    std::array<Tensor, 2> outputs;
    const std::array inputs{Ints(numbers)};
    const Status status = invocation_->Run(inputs, outputs, options);
    targets_[number_].End();
    if (!status) return Count(status.error());
    ++ends_.ran;
    std::vector<int64_t> sums = numbers;
    for (int64_t& number : sums) number += turns;
    Expect(ToInts(outputs[0]) == sums && ToInts(outputs[1]) == numbers, "a result is wrong");
    if (random_() % 4 == 0) service_.Keep(random_, std::move(outputs));
  }

  void Count(const Error& error) {
    switch (error.code) {
      case Code::kCancelled:
        ++ends_.cancelled;
        return;
      case Code::kDeadlineExceeded:
        ++ends_.late;
        return;
      case Code::kOutOfMemory:
        ++ends_.limited;
        return;
      default:
        Expect(false, error.message);
    }
  }

  Service& service_;
  std::array<Target, kThreads>& targets_;
  const size_t number_;
  std::mt19937 random_;
  std::optional<Invocation> invocation_;
  Ends ends_;
};

TEST(ManyThreads, ShareAndEndInAnyOrder) {
  std::shared_ptr<MemoryPool> memory;
  Ends all;
  {
    Service service;
    memory = service.memory();
    std::array<Target, kThreads> targets;
    std::array<Ends, kThreads> ends;
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < kThreads; ++i)
        threads.emplace_back([&, i] { ends[i] = Client(service, targets, i).Work(Tries(20'000, 2000)); });
    }
    for (const Ends& one : ends) {
      EXPECT_EQ(one.problem, "");
      all.ran += one.ran;
      all.cancelled += one.cancelled;
      all.late += one.late;
      all.limited += one.limited;
    }
  }
  EXPECT_GT(all.ran, 0);
  EXPECT_GT(all.cancelled, 0);
  EXPECT_GT(all.late, 0);
  EXPECT_GT(all.limited, 0);
  EXPECT_EQ(memory->held_bytes(), 0);
  EXPECT_EQ(memory->waiting(), 0);
}

}  // namespace
}  // namespace tvmvm
