// What Vulkan devices say that new memory takes, and what follows.
#include "devices/vulkan/vulkan_memory.h"

#include <gtest/gtest.h>

#include "bytecode/steady_time.h"
#include "tests/devices/first_vulkan.h"
#include "tests/devices/test_token.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

constexpr int64_t kMegabyte = 1 << 20, kSecond = 1'000'000'000;

int allocations = 0;
PFN_vkAllocateMemory allocate = nullptr;

class VulkanMemoryTest : public ::testing::Test {
 protected:
  // Opens the device as what `change` makes of it; false after a failure.
  bool Open(void (*change)(VulkanHardware*)) {
    auto context = testing::FirstVulkan(change);
    EXPECT_TRUE(context) << context.error().message;
    if (!context) return false;
    context_ = *context;
    allocations = 0;
    allocate = context_->f().AllocateMemory;
    testing::FunctionsOf(context_.get()).AllocateMemory =
        [](VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
           VkDeviceMemory* memory) {
          ++allocations;
          return allocate(device, info, callbacks, memory);
        };
    return true;
  }
  void SetUp() override {
    if (auto context = testing::FirstVulkan(); !context)
      TVMVM_SKIP_WITHOUT("vulkan", context.error().message);
  }
  std::shared_ptr<VulkanContext> context_;
};

void BeDiscrete(VulkanHardware* hardware) {
  hardware->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  hardware->shares_memory = false;
}

TEST_F(VulkanMemoryTest, WhatThereIsNoTimeForTheDriverIsNotAskedFor) {
  for (const VulkanMemoryUse use :
       {VulkanMemoryUse::kDevice, VulkanMemoryUse::kUpload, VulkanMemoryUse::kReadback}) {
    ASSERT_TRUE(Open(BeDiscrete));
    VulkanMemory memory(context_, use, 0);
    const testing::TestToken late(1, SteadyNanoseconds() - 1), early(1, SteadyNanoseconds() + 1000 * kSecond);
    const auto refused = memory.Allocate(kMegabyte, &late);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kDeadlineExceeded);
    EXPECT_TRUE(refused.error().message.starts_with("vulkan:0")) << refused.error().message;
    EXPECT_TRUE(refused.error().message.ends_with("0 nanoseconds are left")) << refused.error().message;
    EXPECT_EQ(allocations, 0);
    const auto piece = memory.Allocate(kMegabyte, &early);
    ASSERT_TRUE(piece) << piece.error().message;
    EXPECT_EQ(allocations, 1);
    memory.Free(*piece);
    const auto again = memory.Allocate(kMegabyte, &late);
    ASSERT_TRUE(again) << "what is there takes no time: " << again.error().message;
    memory.Free(*again);
    EXPECT_EQ(allocations, 1);
  }
}

// Clearing a gigabyte takes a discrete GPU 26 to 30 ms.
TEST_F(VulkanMemoryTest, DevicesBeginWithWhatIsRatherTooMuch) {
  ASSERT_TRUE(Open(BeDiscrete));
  EXPECT_EQ(VulkanMemory(context_, VulkanMemoryUse::kDevice, 0).statistics().megabyte_ns, 40'000);
  EXPECT_EQ(VulkanMemory(context_, VulkanMemoryUse::kUpload, 0).statistics().megabyte_ns, 250'000);
  ASSERT_TRUE(Open([](VulkanHardware* hardware) {
    hardware->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    hardware->shares_memory = true;
  }));
  EXPECT_EQ(VulkanMemory(context_, VulkanMemoryUse::kDevice, 0).statistics().megabyte_ns, 250'000);
  ASSERT_TRUE(
      Open([](VulkanHardware* hardware) { hardware->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU; }));
  EXPECT_EQ(VulkanMemory(context_, VulkanMemoryUse::kDevice, 0).statistics().megabyte_ns, 0);
}

}  // namespace
}  // namespace tvmvm
