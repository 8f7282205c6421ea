// Launches: kernels' errors, profiles, warm calls, threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/vm/allocation_count.h"
#include "tests/vm/text_program.h"
#include "tvm-vm/profiler.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Checks x with a kernel, gives x's first element back.
constexpr std::string_view kCheck = R"---(
entry @main
kernel @check cpu symbol "check" scalars 0 buffers [read] errors ["zero", "an element is negative"]
kernel @add cpu symbol "add" scalars 1 buffers [read, write]
func @main("x": i64[k]) -> ("y": i64[1]) frame 10, 3 {
  i0 = const 0
  i1 = const 1
  i2 = dim r0, 0
  r1 = output 0, [i1]
  node "/gather (Gather)"
  launch @check, 0, [i2, i1, i1, i0, i0, i0], [], [r0]
  i3 = load r0, i0, i64
  store r1, i0, i64, i3
  return [], [r1]
}
)---";

TEST(Launch, AKernelsErrorHasItsMessageAndNode) {
  EXPECT_THAT(RunInts(kCheck, {Ints({5, 6})}), ElementsAre(5));
  const std::string error = RunError(kCheck, {Ints({5, -6})});
  EXPECT_THAT(error, HasSubstr("invalid_argument: @main:"));
  EXPECT_THAT(error, HasSubstr("launch: kernel 'check': an element is negative (node /gather (Gather))"));
}

TEST(Launch, KernelsDoNotWriteInputs) {
  constexpr std::string_view kWrites = R"---(
entry @main
kernel @add cpu symbol "add" scalars 1 buffers [read, write]
func @main("x": f32[k]) -> ("y": f32[k]) frame 10, 3 {
  i0 = const 0
  i1 = const 1
  launch @add, 0, [i1, i1, i1, i0, i0, i0], [i1], [r0, r0]
  return [], [r0]
}
)---";
  EXPECT_THAT(RunError(kWrites, {Floats({1})}),
              HasSubstr("kernel 'add' writes to an input or a constant (buffer 1)"));
}

TEST(Launch, NegativeGridsAreErrors) {
  std::string text(kCheck);
  text.replace(text.find("[i2, i1, i1"), 11, "[i4, i1, i1");
  text.insert(text.find("  launch"), "  i4 = const -4\n");
  EXPECT_THAT(RunError(text, {Ints({1})}), HasSubstr("a grid of -4 x 1 x 1 points"));
}

std::shared_ptr<Vm> AddTwoVm(const VmOptions& options = TestOptions()) {
  Builder builder;
  BuildAddTwo(builder);
  auto vm = MakeVm(builder, options);
  EXPECT_TRUE(vm);
  return vm ? *vm : nullptr;
}

TEST(Launch, AWarmCallAllocatesNothing) {
  auto vm = AddTwoVm();
  Invocation invocation = vm->NewInvocation();
  std::array inputs{Floats(std::vector<float>(100))};
  std::array outputs{*Tensor::Allocate(DType::kF32, Shape{100})};
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(invocation.Run(inputs, outputs));
  const int64_t before = AllocationCount();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(invocation.Run(inputs, outputs));
  EXPECT_EQ(AllocationCount(), before);
}

TEST(Launch, ShapesThatWereSeenStayWarm) {
  auto vm = AddTwoVm();
  Invocation invocation = vm->NewInvocation();
  auto run = [&](int64_t n) {
    std::array inputs{*Tensor::Allocate(DType::kF32, Shape{n})};
    std::array outputs{*Tensor::Allocate(DType::kF32, Shape{n})};
    const int64_t before = AllocationCount();
    EXPECT_TRUE(invocation.Run(inputs, outputs));
    return AllocationCount() - before;
  };
  for (int64_t n : {50, 10, 30, 50}) run(n);
  for (int64_t n : {10, 30, 50, 10}) EXPECT_EQ(run(n), 0) << n;
}

TEST(Launch, AFreshOutputComesFromTheHostHeap) {
  auto vm = AddTwoVm();
  Invocation invocation = vm->NewInvocation();
  std::array inputs{Floats({1})};
  for (int i = 0; i < 2; ++i) {
    std::array outputs{Tensor()};
    ASSERT_TRUE(invocation.Run(inputs, outputs));
  }
  std::array outputs{Tensor()};
  const int64_t before = AllocationCount();
  ASSERT_TRUE(invocation.Run(inputs, outputs));
  EXPECT_EQ(AllocationCount(), before) << "tensor and owner are both in the host heap";
  EXPECT_THAT(ToFloats(outputs[0]), ElementsAre(3));
}

TEST(MachineLimits, BandwidthIsOfTheLevelThatHoldsTheBytes) {
  const MachineLimits limits{0, 0, 0, {{100, 30}, {200, 20}, {400, 5}}};
  EXPECT_EQ(limits.BandwidthOf(10), 30);
  EXPECT_EQ(limits.BandwidthOf(199), 30);
  EXPECT_EQ(limits.BandwidthOf(200), 20);
  EXPECT_EQ(limits.BandwidthOf(1 << 30), 5);
  EXPECT_EQ(MachineLimits{}.BandwidthOf(10), 0);
}

TEST(MachineLimits, OperationsAreThoseOfTheElements) {
  const MachineLimits limits{100, 50, 400, {}};
  KernelSpec kernel;
  EXPECT_EQ(limits.OperationsOf(kernel), 100);
  kernel.alignments = {4, 8};
  EXPECT_EQ(limits.OperationsOf(kernel), 100);
  kernel.alignments = {8, 8};
  EXPECT_EQ(limits.OperationsOf(kernel), 50);
  kernel.alignments = {1, 4};
  EXPECT_EQ(limits.OperationsOf(kernel), 400);
}

TEST(Profiler, ComparesWithTheLimits) {
  auto vm = AddTwoVm();
  auto program = std::shared_ptr<const Program>(vm, &vm->program());
  Profiler profiler(program);
  EXPECT_THAT(profiler.Table(), Not(HasSubstr("%limit")));
  profiler.SetLimits({2, 2, 2, {{1, 0.5}}});
  Invocation invocation = vm->NewInvocation();
  invocation.SetLaunchObserver(profiler.observer());
  std::array outputs{Tensor()};
  ASSERT_TRUE(invocation.Run(std::array{Floats({1, 2, 3})}, outputs));
  const KernelProfile kernel = profiler.Kernels().at(0);
  EXPECT_EQ(kernel.flops_ns, static_cast<double>(kernel.flops) / 2);
  EXPECT_EQ(kernel.bytes_ns, static_cast<double>(kernel.bytes) / 0.5);
  EXPECT_EQ(kernel.limit_ns, std::max(kernel.flops_ns, kernel.bytes_ns));
  EXPECT_EQ(profiler.total_nanoseconds(), kernel.nanoseconds);
  EXPECT_THAT(profiler.Table(), HasSubstr("  %flops  %bytes  %limit  device"));
}

TEST(Profiler, CountsAndShowsLaunches) {
  auto vm = AddTwoVm();
  auto program = std::shared_ptr<const Program>(vm, &vm->program());
  Profiler profiler(program, true);
  Invocation invocation = vm->NewInvocation();
  invocation.SetLaunchObserver(profiler.observer());
  std::array outputs{Tensor()};
  ASSERT_TRUE(invocation.Run(std::array{Floats({1, 2, 3})}, outputs));
  std::vector<KernelProfile> kernels = profiler.Kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].launches, 2);
  EXPECT_EQ(kernels[0].flops, 6);
  EXPECT_GE(kernels[0].nanoseconds, 0);
  EXPECT_THAT(profiler.Table(), HasSubstr("GFLOP/s"));
  EXPECT_THAT(profiler.Table(), HasSubstr("  cpu        add\n"));
  EXPECT_THAT(profiler.Table(), HasSubstr("             total\n"));
  auto trace = nlohmann::json::parse(profiler.ChromeTrace());
  nlohmann::json launches;
  for (const nlohmann::json& event : trace["traceEvents"])
    if (event["ph"] == "X") launches.push_back(event);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[1]["args"]["node"], "/second (Add)");
  EXPECT_EQ(launches[1]["args"]["device"], "cpu");
  EXPECT_EQ(launches[1]["tid"], 1);
  EXPECT_EQ(launches[0]["ts"], 0.0);
  EXPECT_EQ(trace["traceEvents"][0]["name"], "process_name");
  profiler.Clear();
  invocation.SetLaunchObserver({});
  std::array again{Tensor()};
  ASSERT_TRUE(invocation.Run(std::array{Floats({1})}, again));
  EXPECT_TRUE(profiler.Kernels().empty());
}

TEST(Threads, EightInvocationsOfOneProgram) {
  auto vm = AddTwoVm(TestOptions(2));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      Invocation invocation = vm->NewInvocation();
      for (int round = 0; round < 50; ++round) {
        const auto n = static_cast<size_t>(1 + (thread * 37 + round * 101) % 5000);
        std::array inputs{Floats(std::vector<float>(n, static_cast<float>(thread)))};
        std::array outputs{Tensor()};
        if (!invocation.Run(inputs, outputs) ||
            ToFloats(outputs[0]) != std::vector<float>(n, static_cast<float>(thread + 2)))
          wrong.fetch_add(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Threads, AnInvocationOutlivesItsVm) {
  auto vm = AddTwoVm();
  Invocation invocation = vm->NewInvocation();
  vm.reset();
  std::array outputs{Tensor()};
  EXPECT_TRUE(invocation.Run(std::array{Floats({1})}, outputs));
}

// In tensors and constants, arenas and slots alike.
TEST(Launch, AKernelIsGivenElements) {
  const std::string begin = R"---(
entry @main
constant c0 "w": f32[2] hex "0000803f00000040"
kernel @add cpu symbol "add" scalars 1 buffers [read, write] aligned [4, 4]
plan p0 [0..1 align 64]
func @main("x": f32[k]) -> ("y": f32[k]) frame 10, 4, 2 {
  i0 = const 0
  i1 = const 1
  i2 = const 6
  i4 = dim r0, 0
  i5 = const 64
  r1 = output 0, [i4]
  r2 = arena i5
  r3, s0 = slots p0, 0, [i5]
  s1 = slot.part s0, i2, i4
  launch @add, 0, [i1, i1, i1], [i1], )---";
  const std::string end = "\n  return [], [r1]\n}\n";
  auto error = [&](const std::string& buffers) { return RunError(begin + buffers + end, {Floats({1, 2})}); };
  EXPECT_THAT(
      error("[r0+i2, r1]"),
      HasSubstr("launch: kernel 'add' is given r0 (buffer 0) at an address that is no multiple of 4"));
  EXPECT_THAT(error("[c0+i2, r1]"), HasSubstr("is given constant 'w' (buffer 0) at"));
  EXPECT_THAT(error("[r0, r2+i2]"), HasSubstr("is given r2 (buffer 1) at"));
  EXPECT_THAT(error("[r0, s0+i2]"), HasSubstr("is given slot s0 (buffer 1) at"));
  EXPECT_THAT(error("[s1, r1]"), HasSubstr("is given slot s1 (buffer 0) at"));
  EXPECT_EQ(error("[r0, r1]"), "");
}

TEST(Launch, TheCostIsTheKernelsOrTheLaunchs) {
  const std::string text = R"---(
entry @main
kernel @add cpu symbol "add" scalars 1 buffers [read, write] cost [64, 100, 200]
func @main("x": f32[k]) -> ("y": f32[k]) frame 10, 2 {
  i0 = const 0
  i1 = const 1
  i2 = const 7
  i3 = dim r0, 0
  r1 = output 0, [i3]
  launch @add, 0, [i3, i1, i1], [i1], [r0, r1]
  launch @add, 0, [i3, i1, i1, i0, i2, i1], [i1], [r0, r1]
  return [], [r1]
}
)---";
  auto vm = VmFromText(text, TestOptions());
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::vector<std::pair<int64_t, int64_t>> seen;
  invocation.SetLaunchObserver([&](const LaunchRecord& launch) {
    seen.push_back({launch.flops, launch.bytes});
  });
  std::array inputs{Floats({1, 2})};
  std::array outputs{Tensor()};
  ASSERT_TRUE(invocation.Run(inputs, outputs));
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int64_t>>{{100, 200}, {7, 1}}));
}

TEST(Launch, NothingIsChangedUnderARun) {
  auto vm = AddTwoVm();
  Invocation invocation = vm->NewInvocation();
  std::vector<std::string> seen;
  ASSERT_TRUE(invocation.SetLaunchObserver([&](const LaunchRecord&) {
    for (const Status& status :
         {invocation.SetLimits({.max_steps = 1}), invocation.Trim(), invocation.SetLaunchObserver({}),
          invocation.SetCopyObserver({}), invocation.SetTraceObserver({})})
      seen.push_back(TextOf(status));
  }));
  std::array outputs{Tensor()};
  ASSERT_TRUE(invocation.Run(std::array{Floats({1})}, outputs));
  EXPECT_EQ(seen, std::vector<std::string>(
                      10, "invalid_argument: the invocation is running: another thread runs it"));
  EXPECT_TRUE(invocation.Trim());
  EXPECT_TRUE(invocation.SetLimits({.max_steps = 1}));
  EXPECT_FALSE(invocation.Run(std::array{Floats({1})}, outputs));
}

TEST(Launch, ACancelWithinAKernelIsACancel) {
  // A kernel that cancels its own Invocation: the next part does not run.
  static Invocation* running = nullptr;
  VmOptions options = TestOptions();
  options.jit = std::make_shared<TestJit>(
      std::map<std::string, KernelFunction>{{"add", [](const KernelArgs*, int64_t begin, int64_t) -> int32_t {
                                               if (begin > 0) return 9;
                                               running->Cancel();
                                               return 0;
                                             }}});
  auto vm = VmFromText(R"---(
entry @main
kernel @add cpu symbol "add" scalars 1 buffers [read, write]
func @main("x": f32[k]) -> ("y": f32[k]) frame 10, 3 {
  i0 = const 0
  i1 = const 1
  i2 = const 1000
  i3 = const 100000000000
  i4 = dim r0, 0
  r1 = output 0, [i4]
  launch @add, 0, [i2, i1, i1, i0, i3, i0], [i1], [r0, r1]
  return [], [r1]
}
)---",
                       options);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  running = &invocation;
  std::array outputs{Tensor()};
  EXPECT_THAT(TextOf(invocation.Run(std::array{Floats({1})}, outputs)), HasSubstr("cancelled: @main:"));
}

constexpr std::string_view kOneLaunch = R"---(
entry @main
kernel @add cpu symbol "add" scalars 1 buffers [read, write]
func @main("x": f32[k]) -> ("y": f32[k]) frame 10, 3 {
  i0 = const 0
  i1 = const 1
  i2 = dim r0, 0
  r1 = output 0, [i2]
  launch @add, 0, [i1, i1, i1, i0, i0, i0], [i1], [r0, r1]
  return [], [r1]
}
)---";

// A kernel that nothing ends, and that is done when the deadline has passed.
TEST(Launch, NoRunIsWellPastItsDeadline) {
  static std::chrono::steady_clock::time_point deadline;
  VmOptions options = TestOptions();
  options.jit = std::make_shared<TestJit>(
      std::map<std::string, KernelFunction>{{"add", [](const KernelArgs*, int64_t, int64_t) -> int32_t {
                                               while (std::chrono::steady_clock::now() <= deadline) {
                                               }
                                               return 0;
                                             }}});
  auto vm = VmFromText(kOneLaunch, options);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array outputs{Tensor()};
  deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  EXPECT_THAT(TextOf(invocation.Run(std::array{Floats({1})}, outputs, {.deadline = deadline})),
              HasSubstr("deadline_exceeded: the deadline of the run is reached"));
  EXPECT_TRUE(outputs[0].empty_handle());
  EXPECT_EQ(TextOf(invocation.Run(std::array{Floats({1})}, outputs)), "");
}

// A kernel that never ends by itself asks as a compiled one does.
TEST(Launch, KernelsThatAskEndAtTheDeadline) {
  VmOptions options = TestOptions();
  options.jit = std::make_shared<TestJit>(
      std::map<std::string, KernelFunction>{{"add", [](const KernelArgs* args, int64_t, int64_t) -> int32_t {
                                               while (true)
                                                 if (args->poll->ask(args->poll) != 0) return kStopped;
                                             }}});
  auto vm = VmFromText(kOneLaunch, options);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  ASSERT_TRUE(invocation.SetLimits({.timeout = std::chrono::milliseconds(5)}));
  std::array outputs{Tensor()};
  EXPECT_THAT(TextOf(invocation.Run(std::array{Floats({1})}, outputs)),
              HasSubstr("launch: the limit of 5000 microseconds is reached"));
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    invocation.Cancel();
  });
  EXPECT_TRUE(invocation.SetLimits({}));
  EXPECT_THAT(TextOf(invocation.Run(std::array{Floats({1})}, outputs)), HasSubstr("launch: cancelled"));
}

}  // namespace
}  // namespace tvmvm
