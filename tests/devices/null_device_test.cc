#include "devices/null/null_device.h"

#include <gtest/gtest.h>

#include "bytecode/steady_time.h"
#include "tests/devices/test_token.h"
#include "tvm-vm/cpu_device.h"

namespace tvmvm {
namespace {

TEST(NullDevice, FailsAnAllocation) {
  auto device = CreateNullDevice({.fail_allocation = 2});
  DeviceMemory first = *device->Allocate(10, nullptr);
  EXPECT_EQ(device->Allocate(10, nullptr).error().code, Code::kOutOfMemory);
  DeviceMemory third = *device->Allocate(10, nullptr);
  EXPECT_EQ(device->statistics().live_bytes, 20);
  device->Free(first);
  device->Free(third);
}

TEST(NullDevice, IsLostForGood) {
  auto device = CreateNullDevice({.lose_at_submit = 3});
  auto queue = *device->NewQueue();
  DeviceMemory memory = *device->Allocate(16, nullptr);
  EXPECT_TRUE(queue->Fill({memory, 0}, 1, 16, nullptr));
  EXPECT_TRUE(queue->Fill({memory, 0}, 1, 16, nullptr));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(queue->Fill({memory, 0}, 1, 16, nullptr).error().code, Code::kDeviceLost);
  auto other = *device->NewQueue();
  EXPECT_EQ(other->Wait(nullptr).error().code, Code::kDeviceLost);
  device->Free(memory);
}

// Opened anew it works; the lost one, and what was on it, does not.
TEST(NullDevice, IsOpenedAnew) {
  auto device = CreateNullDevice({.kind = DeviceKind::kVulkan, .max_bytes = 32, .lose_at_submit = 1});
  auto queue = *device->NewQueue();
  DeviceMemory memory = *device->Allocate(16, nullptr);
  EXPECT_EQ(queue->Fill({memory, 0}, 1, 16, nullptr).error().code, Code::kDeviceLost);
  auto again = device->Reopen();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->target().device, DeviceKind::kVulkan);
  EXPECT_EQ((*again)->statistics().live_bytes, 0);
  DeviceMemory fresh = *(*again)->Allocate(32, nullptr);
  EXPECT_EQ((*again)->Allocate(1, nullptr).error().code, Code::kOutOfMemory);
  auto fresh_queue = *(*again)->NewQueue();
  EXPECT_TRUE(fresh_queue->Fill({fresh, 0}, 1, 32, nullptr));
  EXPECT_TRUE(fresh_queue->Wait(nullptr));
  EXPECT_EQ(queue->Fill({memory, 0}, 1, 16, nullptr).error().code, Code::kDeviceLost);
  (*again)->Free(fresh);
  device->Free(memory);
}

TEST(NullDevice, MayStayLost) {
  auto device = CreateNullDevice({.lose_at_submit = 1, .stays_lost = true});
  EXPECT_EQ(device->Reopen().error().code, Code::kDeviceLost);
  EXPECT_EQ(CreateCpuDevice({})->Reopen().error().code, Code::kUnsupported);
}

TEST(NullDevice, SaysWhatMemoryTakes) {
  auto device = CreateNullDevice({.new_megabyte_ns = int64_t{1'000'000} * 1'000'000'000});
  EXPECT_EQ(device->statistics().new_megabyte_ns, int64_t{1'000'000} * 1'000'000'000);
  const testing::TestToken hour(1, SteadyNanoseconds() + int64_t{3600} * 1'000'000'000);
  DeviceMemory small = *device->Allocate(1000, &hour);
  auto late = device->Allocate(10'000, &hour);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded) << late.error().message;
  DeviceMemory large = *device->Allocate(10'000, nullptr);
  device->Free(small);
  device->Free(large);
  EXPECT_EQ(CreateNullDevice({})->statistics().new_megabyte_ns, 0);
}

TEST(NullDevice, HasRoomForSoMuchWork) {
  std::atomic<bool> is_busy{true};
  auto device = CreateNullDevice({.is_busy = &is_busy, .most_ahead = 2});
  auto queue = *device->NewQueue();
  DeviceMemory memory = *device->Allocate(16, nullptr);
  const testing::TestToken token(1);
  EXPECT_TRUE(queue->Fill({memory, 0}, 1, 16, &token));
  EXPECT_TRUE(queue->Fill({memory, 0}, 2, 16, &token));
  EXPECT_EQ(queue->Fill({memory, 0}, 3, 16, &token).error().code, Code::kCancelled);
  is_busy = false;
  EXPECT_TRUE(queue->Fill({memory, 0}, 3, 16, &token));
  queue->FreeAfterWork(memory);
}

TEST(NullDevice, FailsALaunch) {
  auto device = CreateNullDevice({.fail_launch = 2, .failure_code = 7});
  auto queue = *device->NewQueue();
  auto kernels = *device->LoadKernels({}, {});
  LaunchRequest request;
  request.kernels = kernels.get();
  for (uint64_t tag = 0; tag < 4; ++tag) {
    request.tag = tag;
    EXPECT_EQ(queue->Launch(request, nullptr), 0);
  }
  auto failure = queue->Wait(nullptr);
  ASSERT_TRUE(failure && *failure);
  EXPECT_EQ((*failure)->tag, 1u);
  EXPECT_EQ((*failure)->code, 7);
  failure = queue->Wait(nullptr);
  EXPECT_TRUE(failure && !*failure);
}

// What is copied out arrives with the wait, as it was when the copy was submitted.
TEST(NullDevice, CopiesOutWithTheWait) {
  auto device = CreateNullDevice({});
  auto queue = *device->NewQueue();
  DeviceMemory memory = *device->Allocate(4, nullptr);
  EXPECT_EQ(memory.host, nullptr);
  char out[4] = {};
  EXPECT_TRUE(queue->Fill({memory, 0}, 5, 4, nullptr));
  EXPECT_TRUE(queue->CopyOut(out, {memory, 0}, 4, nullptr));
  EXPECT_TRUE(queue->Fill({memory, 0}, 6, 4, nullptr));
  EXPECT_EQ(out[0], 0);
  EXPECT_TRUE(queue->Wait(nullptr));
  EXPECT_EQ(out[0], 5);
  queue->FreeAfterWork(memory);
  EXPECT_EQ(device->statistics().live_bytes, 4);
  EXPECT_TRUE(queue->Wait(nullptr));
  EXPECT_EQ(device->statistics().live_bytes, 0);
}

}  // namespace
}  // namespace tvmvm
