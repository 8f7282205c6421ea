// What services want of the C interface: their own threads, observers, a deadline for each run, and an error
// where two threads use one invocation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/vm/c_api_session.h"
#include "tests/vm/text_program.h"
#include "vm/c/objects.h"
#include "vm/c/pool.h"

namespace tvmvm {
namespace {

using testing::CSession;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Take;

// Counts to x.
constexpr std::string_view kCount = R"---(
entry @main
func @main("x": i64[1]) -> ("y": i64[1]) frame 5, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  trace "x is {0}", [i2]
  r1 = output 0, [i1]
  i3 = const 0
again:
  i4 = lt i3, i2
  branch.ifnot i4, end
  i3 = add i3, i1
  jump again
end:
  store r1, i0, i64, i3
  return [], [r1]
}
)---";
constexpr int64_t kForever = INT64_MAX;

TEST(CApiService, RunsHaveDeadlinesOfTheirOwn) {
  CSession session(kCount);
  tvmvm_run_options options = {};
  options.size = sizeof options;
  options.timeout_ns = 2'000'000;
  EXPECT_THAT(session.Run(kForever, &options), HasSubstr("the deadline of the run is reached"));
  EXPECT_EQ(session.Run(10), "") << "the next run has none";
  EXPECT_EQ(session.y, 10);
  options.timeout_ns = INT64_MAX;
  EXPECT_EQ(session.Run(11, &options), "");
  options.timeout_ns = -1;
  EXPECT_EQ(session.Run(1, &options), "options.timeout_ns is -1, at least 0 is wanted");

  tvmvm_limits limits = {};
  limits.size = sizeof limits;
  limits.timeout_ns = 1'000'000;
  ASSERT_EQ(Take(tvmvm_invocation_apply_limits(session.invocation, &limits)), "");
  options.timeout_ns = 3'600'000'000'000;
  EXPECT_THAT(session.Run(kForever, &options), HasSubstr("the limit of 1000 microseconds is reached"));
}

TEST(CApiService, InvocationsRefuseASecondThread) {
  CSession session(kCount);
  std::string first;
  std::thread runs([&] {
    do first = session.Run(kForever);
    while (first.find("another thread") != std::string::npos);  // refused while the other one counts to 0
  });
  std::string second;
  while ((second = session.Run(0)).empty()) std::this_thread::yield();
  EXPECT_EQ(second, "the invocation is running: another thread runs it");
  tvmvm_limits limits = {};
  limits.size = sizeof limits;
  EXPECT_THAT(Take(tvmvm_invocation_apply_limits(session.invocation, &limits)), HasSubstr("another thread"));
  tvmvm_invocation_trim(session.invocation);  // does nothing
  tvmvm_invocation_cancel(session.invocation);
  runs.join();
  EXPECT_THAT(first, HasSubstr("cancelled"));
}

TEST(CApiService, RunsAreCancelledOneByOne) {
  CSession session(kCount);
  tvmvm_run_options options[2] = {};
  tvmvm_run_cancel* cancels[2] = {};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Take(tvmvm_run_cancel_create(&cancels[i])), "");
    options[i].size = sizeof options[i];
    options[i].cancel = cancels[i];
  }
  EXPECT_EQ(session.Run(4, &options[0]), "");
  EXPECT_EQ(session.y, 4);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    tvmvm_run_cancel_request(cancels[0]);
  });
  EXPECT_THAT(session.Run(kForever, &options[0]), HasSubstr("cancelled"));
  other.join();
  EXPECT_EQ(session.Run(5, &options[0]), "cancelled") << "it stays so";
  EXPECT_EQ(session.Run(5, &options[1]), "") << "a token of its own";
  tvmvm_run_cancel_request(cancels[1]);
  tvmvm_run_cancel_request(cancels[1]);
  EXPECT_EQ(session.Run(6), "") << "the one before has ended";
  options[1].size = offsetof(tvmvm_run_options, cancel);  // of a caller that knows of none
  EXPECT_EQ(session.Run(7, &options[1]), "");
  EXPECT_EQ(session.y, 7);
  for (tvmvm_run_cancel* cancel : cancels) tvmvm_run_cancel_free(cancel);
}

// Freed under the run that it was given to.
TEST(CApiService, ACancelIsKeptByItsRun) {
  CSession session(kCount);
  tvmvm_run_cancel* cancel = nullptr;
  ASSERT_EQ(Take(tvmvm_run_cancel_create(&cancel)), "");
  auto observe = [](void* context, const char*, size_t) {
    auto* given = static_cast<tvmvm_run_cancel*>(context);
    tvmvm_run_cancel_request(given);
    tvmvm_run_cancel_free(given);
  };
  ASSERT_EQ(Take(tvmvm_invocation_observe_trace(session.invocation, observe, cancel)), "");
  tvmvm_run_options options = {};
  options.size = sizeof options;
  options.cancel = cancel;
  EXPECT_THAT(session.Run(kForever, &options), HasSubstr("cancelled"));
}

TEST(CApiService, ObserversAreToldLines) {
  CSession session(kCount);
  struct Told {
    tvmvm_invocation* invocation;
    std::vector<std::string> lines;
    std::string again;
  } told{session.invocation, {}, {}};
  auto observe = [](void* context, const char* line, size_t size) {
    auto& to = *static_cast<Told*>(context);
    to.lines.emplace_back(line, size);
    to.again = Take(tvmvm_invocation_run(to.invocation, nullptr, 0, nullptr, 0));
  };
  ASSERT_EQ(Take(tvmvm_invocation_observe_trace(session.invocation, observe, &told)), "");
  EXPECT_EQ(session.Run(3), "");
  ASSERT_EQ(Take(tvmvm_invocation_observe_trace(session.invocation, nullptr, nullptr)), "");
  EXPECT_EQ(session.Run(4), "");
  EXPECT_THAT(told.lines, ElementsAre("x is 3"));
  EXPECT_THAT(told.again, HasSubstr("the invocation is running"));
}

TEST(CApiService, ObserversAreToldOfLaunches) {
  constexpr std::string_view kAdd = R"---(
entry @main
kernel @add cpu symbol "add" scalars 1 buffers [read, write]
func @main("x": f32[1]) -> ("y": f32[1]) frame 2, 2 {
  i0 = const 0
  i1 = const 1
  r1 = output 0, [i1]
  launch @add, 0, [i1, i1, i1, i0, i0, i0], [i1], [r0, r1]
  return [], [r1]
}
)---";
  std::shared_ptr<Vm> vm = testing::VmFromText(kAdd);
  ASSERT_NE(vm, nullptr);
  tvmvm_vm c_vm{std::shared_ptr<const Program>(vm, &vm->program()), vm, vm->Devices()};
  tvmvm_invocation* invocation = nullptr;
  ASSERT_EQ(Take(tvmvm_invocation_create(&c_vm, &invocation)), "");
  std::vector<std::string> kernels;
  auto observe = [](void* context, const tvmvm_launch_record* launch) {
    EXPECT_EQ(launch->size, sizeof *launch);
    EXPECT_LE(launch->begin_ns, launch->end_ns);
    EXPECT_EQ(launch->grid, 1);
    static_cast<std::vector<std::string>*>(context)->emplace_back(launch->kernel);
  };
  ASSERT_EQ(Take(tvmvm_invocation_observe_launches(invocation, observe, &kernels)), "");
  ASSERT_EQ(Take(tvmvm_invocation_observe_copies(invocation, nullptr, nullptr)), "");
  float x = 1;
  const int64_t dims[] = {1};
  tvmvm_tensor* input = nullptr;
  tvmvm_tensor* output = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_borrow(TVMVM_F32, dims, 1, &x, &input)), "");
  EXPECT_EQ(Take(tvmvm_invocation_run(invocation, &input, 1, &output, 1)), "");
  EXPECT_THAT(kernels, ElementsAre("add"));
  tvmvm_tensor_free(input);
  tvmvm_tensor_free(output);
  tvmvm_invocation_free(invocation);
}

struct CountedPool {
  int workers = 1, runs = 0, freed = 0;
  tvmvm_worker_pool pool = {
      .size = sizeof(tvmvm_worker_pool),
      .context = this,
      .worker_count = [](void* context) { return static_cast<CountedPool*>(context)->workers; },
      .run =
          [](void* context, int64_t count, int64_t, tvmvm_task task, void* task_context) {
            ++static_cast<CountedPool*>(context)->runs;
            task(task_context, 0, 0, count);
          },
      .free = [](void* context) { ++static_cast<CountedPool*>(context)->freed; }};
};

TEST(CApiService, PoolsOfTheCallerServeUntilNothingUsesThem) {
  CountedPool counted;
  {
    auto pool = c::PoolFrom(&counted.pool);
    ASSERT_TRUE(pool) << pool.error().message;
    int64_t sum = 0;
    (*pool)->Run(
        5, 1,
        [](void* context, int, int64_t begin, int64_t end) {
          *static_cast<int64_t*>(context) += end - begin;
        },
        &sum);
    EXPECT_EQ(sum, 5);
  }
  EXPECT_EQ(counted.runs, 1);
  EXPECT_EQ(counted.freed, 1);

  CSession session(kCount);
  tvmvm_vm_options options = {};
  options.size = sizeof options;
  options.pool = &counted.pool;
  tvmvm_vm* vm = nullptr;
  tvmvm_invocation* invocation = nullptr;
  ASSERT_EQ(Take(tvmvm_vm_create(session.program, &options, &vm)), "");
  ASSERT_EQ(Take(tvmvm_invocation_create(vm, &invocation)), "");
  tvmvm_vm_free(vm);
  EXPECT_EQ(counted.freed, 1) << "the invocation uses it";
  tvmvm_invocation_free(invocation);
  EXPECT_EQ(counted.freed, 2);

  tvmvm_device_options device_options = {};
  device_options.size = sizeof device_options;
  device_options.pool = &counted.pool;
  tvmvm_device* device = nullptr;
  ASSERT_EQ(Take(tvmvm_device_open("cpu", &device_options, &device)), "");
  tvmvm_device_free(device);
  EXPECT_EQ(counted.freed, 3);

  counted.workers = 0;
  EXPECT_EQ(Take(tvmvm_vm_create(session.program, &options, &vm)), "the pool has 0 workers");
  counted.pool.run = nullptr;
  EXPECT_EQ(Take(tvmvm_vm_create(session.program, &options, &vm)), "pool.worker_count or pool.run is null");
  EXPECT_EQ(counted.freed, 3);
}

// The same in C++.
TEST(InvocationTest, RefusesASecondThreadAndTakesADeadline) {
  auto vm = testing::VmFromText(kCount);
  ASSERT_NE(vm, nullptr);
  Invocation invocation = vm->NewInvocation();
  int64_t x = kForever;
  const std::array inputs{Tensor::Borrow(DType::kI64, Shape{1}, &x)};
  std::array outputs{Tensor()};
  RunOptions options;
  options.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  EXPECT_THAT(testing::TextOf(invocation.Run(inputs, outputs, options)),
              HasSubstr("deadline_exceeded: @main:"));
  options.deadline = std::chrono::steady_clock::time_point();  // long over
  EXPECT_THAT(testing::TextOf(invocation.Run(inputs, outputs, options)), HasSubstr("deadline of the run"));
  std::string again;
  invocation.SetTraceObserver([&](std::string_view) {
    std::array<Tensor, 1> others;
    again = testing::TextOf(invocation.Run(inputs, others));
  });
  x = 2;
  EXPECT_EQ(testing::TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_EQ(again, "invalid_argument: the invocation is running: another thread runs it");
}

}  // namespace
}  // namespace tvmvm
