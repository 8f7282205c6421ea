#include "tvm-vm/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "devices/cpu/cpu_features.h"
#include "tests/devices/kernel_files.h"

namespace tvmvm {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using testing::ReadKernelLibrary;

KernelSpec FillKernel() {
  KernelSpec kernel;
  kernel.name = "fill";
  kernel.symbol = "fill";
  kernel.scalar_count = 2;
  kernel.buffers = {Access::kWrite};
  return kernel;
}

KernelLibrarySpec Library(const std::string& target, const std::vector<std::byte>& bytes,
                          KernelForm form = KernelForm::kSharedObject) {
  KernelLibrarySpec library;
  library.form = form;
  library.target = target;
  library.bytes = bytes;
  return library;
}

class CpuDevice : public ::testing::Test {
 protected:
  // Runs `fill` over `count` numbers and gives them.
  std::vector<int64_t> Fill(Device& device, const KernelSet& set, int64_t count, int64_t flops = 0) {
    std::vector<int64_t> y(static_cast<size_t>(count));
    void* buffer = y.data();
    const int64_t scalars[] = {0, 0};
    LaunchRequest request;
    request.kernels = &set;
    request.grid[0] = count;
    request.flops = flops;
    request.scalars = scalars;
    request.addresses = {&buffer, 1};
    auto code = (*device.NewQueue())->Launch(request, nullptr);
    EXPECT_TRUE(code) << code.error().message;
    EXPECT_EQ(*code, 0);
    return y;
  }

  const std::vector<KernelSpec> kernels_ = {FillKernel()};
  const std::vector<std::byte> one_ = ReadKernelLibrary("fill_one"), two_ = ReadKernelLibrary("fill_two");
};

TEST_F(CpuDevice, TakesTheBestLevelThatTheMachineRuns) {
  auto device = CreateCpuDevice({});
  const std::vector<KernelLibrarySpec> libraries = {Library("x86-64-v3", one_), Library("x86-64-v4", two_)};
  auto set = device->LoadKernels(kernels_, libraries);
  if (!HostRuns(CpuLevel::kX86_64_V3)) GTEST_SKIP() << "not an x86-64-v3 machine";
  ASSERT_TRUE(set) << set.error().message;
  const bool v4 = HostRuns(CpuLevel::kX86_64_V4);
  EXPECT_EQ((*set)->description(), v4 ? "x86-64-v4 shared object" : "x86-64-v3 shared object");
  EXPECT_THAT(Fill(*device, **set, 5), Each(v4 ? 2 : 1));
}

TEST_F(CpuDevice, CanBeHeldToALevel) {
  if (!HostRuns(CpuLevel::kX86_64_V3)) GTEST_SKIP() << "not an x86-64-v3 machine";
  CpuDeviceOptions options;
  options.force_level = "x86-64-v3";
  auto device = CreateCpuDevice(options);
  auto set =
      device->LoadKernels(kernels_, std::vector{Library("x86-64-v4", two_), Library("x86-64-v3", one_)});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(Fill(*device, **set, 3), Each(1));
}

TEST_F(CpuDevice, SaysWhatTheProgramHoldsAndWhatTheMachineHas) {
  auto device = CreateCpuDevice({});
  auto set = device->LoadKernels(
      kernels_, std::vector{Library("x86-64-v9", one_), Library("host", {}, KernelForm::kBitcode)});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kUnsupported);
  EXPECT_THAT(set.error().message, HasSubstr("x86-64-v9 shared object, host bitcode"));
  EXPECT_THAT(set.error().message, HasSubstr("no JIT"));
}

TEST_F(CpuDevice, NamesAKernelThatTheLibraryLacks) {
  std::vector<KernelSpec> kernels = {FillKernel(), FillKernel()};
  kernels[1].name = "matmul.7";
  kernels[1].symbol = "matmul_7";
  auto set = CreateCpuDevice({})->LoadKernels(kernels, std::vector{Library("host", one_)});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kInvalidProgram);
  EXPECT_EQ(set.error().message, "kernel 'matmul.7': the host library has no symbol 'matmul_7'");
}

TEST_F(CpuDevice, RunsGridsOnThreadsAndInline) {
  CpuDeviceOptions options;
  options.threads = 4;
  auto device = CreateCpuDevice(options);
  auto set = device->LoadKernels(kernels_, std::vector{Library("host", one_)});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(Fill(*device, **set, 10), Each(1));
  EXPECT_THAT(Fill(*device, **set, 100'000, int64_t{1} << 40), Each(1));
  EXPECT_TRUE(Fill(*device, **set, 0).empty());
  EXPECT_EQ(device->statistics().launches, 2);
}

TEST_F(CpuDevice, GivesTheKernelsCodeAndScratch) {
  auto device = CreateCpuDevice({});
  auto set = device->LoadKernels(kernels_, std::vector{Library("host", one_)});
  ASSERT_TRUE(set);
  auto queue = *device->NewQueue();
  int64_t y[1] = {};
  void* buffer = y;
  const int64_t negative[] = {-1, 0}, with_scratch[] = {0, 100'000};
  LaunchRequest request;
  request.kernels = set->get();
  request.addresses = {&buffer, 1};
  request.scalars = negative;
  EXPECT_EQ(queue->Launch(request, nullptr), 3);
  request.scalars = with_scratch;
  request.scratch_bytes = 100'000;
  EXPECT_EQ(queue->Launch(request, nullptr), 0);
  request.scratch_bytes = INT64_MAX / 2;
  EXPECT_EQ(queue->Launch(request, nullptr).error().code, Code::kOutOfMemory);
  request.grid[1] = INT64_MAX;
  request.grid[0] = 3;
  EXPECT_EQ(queue->Launch(request, nullptr).error().code, Code::kInvalidArgument);
}

TEST_F(CpuDevice, StopsWithinALaunch) {
  struct Token final : CancelToken {
    bool cancelled() const override { return ++asked > 3; }
    mutable std::atomic<int> asked{0};
  } token;
  auto device = CreateCpuDevice({.threads = 1});
  auto set = device->LoadKernels(kernels_, std::vector{Library("host", one_)});
  ASSERT_TRUE(set);
  std::vector<int64_t> y(1000);
  void* buffer = y.data();
  const int64_t scalars[] = {0, 0};
  LaunchRequest request;
  request.kernels = set->get();
  request.grid[0] = 1000;
  request.flops = int64_t{1} << 40;
  request.scalars = scalars;
  request.addresses = {&buffer, 1};
  auto code = (*device->NewQueue())->Launch(request, &token);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, Code::kCancelled);
  EXPECT_EQ(y.back(), 0);
}

// Threads look between slices of their parts, not only between parts.
TEST_F(CpuDevice, ThreadsStopWithinTheirParts) {
  struct Token final : CancelToken {
    bool cancelled() const override { return ++asked > 8; }
    mutable std::atomic<int> asked{0};
  } token;
  auto device = CreateCpuDevice({.threads = 4});
  auto set = device->LoadKernels(kernels_, std::vector{Library("host", one_)});
  ASSERT_TRUE(set);
  std::vector<int64_t> y(100'000);
  void* buffer = y.data();
  const int64_t scalars[] = {0, 0};
  LaunchRequest request;
  request.kernels = set->get();
  request.grid[0] = 100'000;
  request.flops = int64_t{1} << 50;
  request.scalars = scalars;
  request.addresses = {&buffer, 1};
  auto code = (*device->NewQueue())->Launch(request, &token);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, Code::kCancelled);
  EXPECT_LE(std::count(y.begin(), y.end(), 1), 8);
}

// Ten times longer than was estimated, and more.
TEST_F(CpuDevice, SlicesFollowWhatTheyTake) {
  constexpr int64_t kPoints = 2000, kFlopsOfAMicrosecond = 60'000;
  auto device = CreateCpuDevice({.threads = 1});
  auto set = device->LoadKernels(kernels_, std::vector{Library("host", ReadKernelLibrary("slow"))});
  ASSERT_TRUE(set) << set.error().message;
  const std::vector<int64_t> y = Fill(*device, **set, kPoints, kPoints * kFlopsOfAMicrosecond);
  EXPECT_EQ(y.front(), 100);
  EXPECT_THAT(y, Each(AllOf(Ge(1), Le(100))));
  EXPECT_LT(*std::min_element(y.begin(), y.end()), 60);
}

TEST_F(CpuDevice, ChecksPlacesInMemory) {
  auto device = CreateCpuDevice({});
  auto queue = *device->NewQueue();
  DeviceMemory memory = *device->Allocate(64, nullptr);
  EXPECT_EQ(device->statistics().live_bytes, 64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.host) % 64, 0u);
  char data[64] = {1, 2, 3};
  EXPECT_TRUE(queue->CopyIn({memory, 0}, data, 64, nullptr));
  EXPECT_TRUE(queue->Copy({memory, 10}, {memory, 0}, 3, nullptr));
  EXPECT_TRUE(queue->Fill({memory, 0}, 9, 1, nullptr));
  EXPECT_TRUE(queue->CopyOut(data, {memory, 0}, 64, nullptr));
  EXPECT_EQ(data[0], 9);
  EXPECT_EQ(data[12], 3);
  EXPECT_FALSE(queue->CopyIn({memory, 1}, data, 64, nullptr));
  EXPECT_FALSE(queue->CopyOut(data, {memory, -1}, 1, nullptr));
  EXPECT_FALSE(queue->Fill({memory, 0}, 0, -1, nullptr));
  device->Free(memory);
  EXPECT_EQ(device->statistics().live_bytes, 0);
  EXPECT_EQ(device->statistics().peak_bytes, 64);
  EXPECT_EQ(device->Allocate(INT64_MAX / 2, nullptr).error().code, Code::kOutOfMemory);
}

TEST(AvailableCpus, ObeysTheAffinityMask) {
  EXPECT_GE(AvailableCpus(), 1);
  int seen = 0;
  std::thread([&] {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    seen = AvailableCpus();
  }).join();
  EXPECT_EQ(seen, 1);
}

TEST(CpuFeatures, LevelsAreNested) {
  EXPECT_TRUE(HostRuns(CpuLevel::kHost));
  EXPECT_TRUE(HostRuns(HostCpuLevel()));
  if (HostRuns(CpuLevel::kX86_64_V4)) {
    EXPECT_TRUE(HostRuns(CpuLevel::kX86_64_V3));
  }
  if (HostRuns(CpuLevel::kX86_64_V4Vnni)) {
    EXPECT_TRUE(HostRuns(CpuLevel::kX86_64_V4));
  }
  TargetInfo info = HostTargetInfo();
  EXPECT_EQ(info.has_vnni, info.cpu_level == CpuLevel::kX86_64_V4Vnni);
  EXPECT_GE(info.l1_bytes, 8 << 10);
}

}  // namespace
}  // namespace tvmvm
