// What a process keeps of the loaders that it opened.
#include <gtest/gtest.h>

#include "devices/opencl/opencl_functions.h"
#include "devices/vulkan/vulkan_device.h"
#include "devices/vulkan/vulkan_instance.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

TEST(ProcessLibraries, TheVulkanInstanceIsOne) {
  auto first = VulkanInstance::Get(false);
  if (!first) TVMVM_SKIP_WITHOUT("vulkan", first.error().message);
  EXPECT_TRUE(ListVulkanDevices());
  auto second = VulkanInstance::Get(false);
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
  auto validating = VulkanInstance::Get(true);
  if (validating) {
    EXPECT_NE(*validating, *first);
    EXPECT_TRUE((*validating)->validates());
    EXPECT_FALSE((*first)->validates());
  }
}

TEST(ProcessLibraries, TheOpenClLoaderIsOne) {
  auto first = OpenClFunctions::Get();
  if (!first) TVMVM_SKIP_WITHOUT("opencl", first.error().message);
  EXPECT_EQ(*first, *OpenClFunctions::Get());
}

}  // namespace
}  // namespace tvmvm
