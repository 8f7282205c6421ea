// When pipelines are made: all ahead, or each when it is first launched.
#include "devices/vulkan/vulkan_kernels.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/devices/first_vulkan.h"
#include "tests/devices/spirv_words.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

class VulkanKernelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto context = testing::FirstVulkan();
    if (!context) TVMVM_SKIP_WITHOUT("vulkan", context.error().message);
    context_ = *context;
    std::vector<SpirvModule> modules;
    for (uint32_t i = 0; i < kCount; ++i) {
      KernelSpec& kernel = kernels_.emplace_back();
      kernel.name = kernel.symbol = "empty" + std::to_string(i);
      modules.push_back({kernel.symbol, testing::EmptySpirv(i + 1)});
    }
    auto library = PackSpirvLibrary(std::move(modules));
    ASSERT_TRUE(library);
    library_ = std::move(*library);
    folder_ = ::testing::TempDir() + "tvmvm_vulkan_kernels_" + std::to_string(getpid());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<KernelSet> Load(const std::string& folder, const LoadProgress& progress = {}) {
    const KernelLibrarySpec library{DeviceKind::kVulkan, KernelForm::kSpirV, "", library_};
    auto set =
        VulkanKernelSet::Create(context_, CacheFolder(folder), kernels_, std::span(&library, 1), progress);
    EXPECT_TRUE(set) << set.error().message;
    return set ? std::move(*set) : nullptr;
  }
  static size_t Made(const std::unique_ptr<KernelSet>& set) {
    size_t made = 0;
    for (uint32_t i = 0; i < kCount; ++i) made += static_cast<VulkanKernelSet&>(*set).has_pipeline(i) ? 1 : 0;
    return made;
  }

  static constexpr uint32_t kCount = 12;
  std::shared_ptr<VulkanContext> context_;
  std::vector<KernelSpec> kernels_;
  std::vector<std::byte> library_;
  std::string folder_;
};

TEST_F(VulkanKernelsTest, WithoutACacheAllAreMadeAhead) {
  EXPECT_EQ(Made(Load("")), kCount);
  EXPECT_EQ(Made(Load("")), kCount);
}

TEST_F(VulkanKernelsTest, OutOfTheCacheEachIsMadeWhenItIsAskedFor) {
  EXPECT_EQ(Made(Load(folder_)), kCount);
  const std::unique_ptr<KernelSet> loaded = Load(folder_);
  const auto& set = static_cast<VulkanKernelSet&>(*loaded);
  EXPECT_EQ(Made(loaded), 0u);
  auto pipeline = set.PipelineOf(5);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  EXPECT_TRUE(set.has_pipeline(5));
  EXPECT_EQ(Made(loaded), 1u);
  EXPECT_EQ(*set.PipelineOf(5), *pipeline);
}

TEST_F(VulkanKernelsTest, WhoWatchesTheProgressGetsAll) {
  EXPECT_EQ(Made(Load(folder_)), kCount);
  size_t told = 0;
  EXPECT_EQ(Made(Load(folder_, [&](size_t ready) { told = ready; })), kCount);
  EXPECT_EQ(told, kCount);
}

TEST_F(VulkanKernelsTest, ThreadsThatAskAtOnceGetTheSame) {
  EXPECT_EQ(Made(Load(folder_)), kCount);
  const std::unique_ptr<KernelSet> loaded = Load(folder_);
  const auto& set = static_cast<VulkanKernelSet&>(*loaded);
  constexpr int kThreads = 4;
  std::vector<VkPipeline> found[kThreads];
  std::vector<std::thread> threads;
  for (std::vector<VkPipeline>& pipelines : found)
    threads.emplace_back([&] {
      for (uint32_t i = 0; i < kCount; ++i) pipelines.push_back(set.PipelineOf(i).value_or(VK_NULL_HANDLE));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Made(loaded), kCount);
  for (const std::vector<VkPipeline>& pipelines : found) EXPECT_EQ(pipelines, found[0]);
}

}  // namespace
}  // namespace tvmvm
