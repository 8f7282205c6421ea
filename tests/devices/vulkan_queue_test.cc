// Where calls of a Vulkan queue must wait, they ask the token that they are given.
#include "devices/vulkan/vulkan_queue.h"

#include <gtest/gtest.h>

#include "tests/devices/first_vulkan.h"
#include "tests/devices/spirv_words.h"
#include "tests/devices/test_token.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

class VulkanQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto context = testing::FirstVulkan();
    if (!context) TVMVM_SKIP_WITHOUT("vulkan", context.error().message);
    context_ = *context;
    memories_ = std::make_unique<VulkanMemories>(context_, 0);
    auto queue = VulkanQueue::Create(context_, memories_.get(), &counts_);
    ASSERT_TRUE(queue) << queue.error().message;
    queue_ = std::move(*queue);
    KernelSpec kernel;
    kernel.name = kernel.symbol = "empty";
    auto library = PackSpirvLibrary({{"empty", testing::EmptySpirv(1)}});
    ASSERT_TRUE(library);
    const KernelLibrarySpec spec{DeviceKind::kVulkan, KernelForm::kSpirV, "", *library};
    auto kernels =
        VulkanKernelSet::Create(context_, CacheFolder(""), std::span(&kernel, 1), std::span(&spec, 1), {});
    ASSERT_TRUE(kernels) << kernels.error().message;
    kernels_ = std::move(*kernels);
    auto piece = memories_->device.Allocate(kBytes, nullptr);
    ASSERT_TRUE(piece) << piece.error().message;
    memory_ = {nullptr, reinterpret_cast<uint64_t>(*piece), kBytes};
  }
  void TearDown() override {
    queue_.reset();
    if (memory_.handle != 0) memories_->device.Free(&PieceOf(memory_));
  }

  Expected<int32_t> Launch(const CancelToken* cancel) {
    LaunchRequest request;
    request.kernels = kernels_.get();
    return queue_->Launch(request, cancel);
  }

  static constexpr int64_t kBytes = 4096;
  std::shared_ptr<VulkanContext> context_;
  std::unique_ptr<VulkanMemories> memories_;
  QueueCounts counts_;
  std::unique_ptr<VulkanQueue> queue_;
  std::unique_ptr<KernelSet> kernels_;
  DeviceMemory memory_;
};

TEST_F(VulkanQueueTest, LaunchesBeyondTheStatusWordsWaitUntilTheTokenSaysSo) {
  {
    const testing::BusyVulkan busy(context_.get());
    const testing::TestToken never(1);
    for (uint32_t i = 0; i < StatusWords::kCount; ++i) ASSERT_TRUE(Launch(&never)) << i;
    EXPECT_EQ(never.asked(), 0) << "there was room";
    for (int round = 1; round < 4; ++round) {
      const testing::TestToken token(round);
      const auto launched = Launch(&token);
      ASSERT_FALSE(launched);
      EXPECT_EQ(launched.error().code, Code::kCancelled);
      EXPECT_EQ(token.asked(), round);
    }
  }
  EXPECT_EQ(counts_.launches.load(), StatusWords::kCount);
  const auto launched = Launch(nullptr);
  EXPECT_TRUE(launched) << launched.error().message;
  EXPECT_TRUE(queue_->Wait(nullptr));
}

// Of copies and fills, each of which is submitted alone.
TEST_F(VulkanQueueTest, WorkBeyondTheBatchesWaitsUntilTheTokenSaysSo) {
  const char byte = 5;
  char large[kBytes] = {}, small = 0;
  const DeviceSpan place{memory_}, behind{memory_, 64};
  {
    const testing::BusyVulkan busy(context_.get());
    for (int i = 0; i < 64; ++i) {
      ASSERT_TRUE(queue_->Fill(place, 7, kBytes, nullptr));
      ASSERT_TRUE(queue_->Flush());
    }
    const auto expect = [](const Status& status, const testing::TestToken& token) {
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, Code::kCancelled) << status.error().message;
      EXPECT_EQ(token.asked(), 2);
    };
    const testing::TestToken tokens[] = {testing::TestToken(2), testing::TestToken(2), testing::TestToken(2),
                                         testing::TestToken(2), testing::TestToken(2)};
    expect(queue_->Fill(place, 8, kBytes, &tokens[0]), tokens[0]);
    expect(queue_->CopyIn(place, &byte, 1, &tokens[1]), tokens[1]);
    expect(queue_->Copy(place, behind, 64, &tokens[2]), tokens[2]);
    expect(queue_->CopyOut(large, place, kBytes, &tokens[3]), tokens[3]);
    // What the host is to read by itself waits for no room, and stays when what follows finds none.
    ASSERT_TRUE(queue_->CopyOut(&small, place, 1, nullptr));
    expect(queue_->Fill(place, 9, kBytes, &tokens[4]), tokens[4]);
  }
  EXPECT_TRUE(queue_->Wait(nullptr));
  EXPECT_EQ(small, 7);
  EXPECT_EQ(large[0], 0) << "the call failed";
}

}  // namespace
}  // namespace tvmvm
