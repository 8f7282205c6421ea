// What a Vulkan queue records, and what it finds recorded.
#include "devices/vulkan/vulkan_stream.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/devices/first_vulkan.h"
#include "tests/devices/test_token.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

class VulkanStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto context = testing::FirstVulkan();
    if (!context) TVMVM_SKIP_WITHOUT("vulkan", context.error().message);
    context_ = *context;
    memories_ = std::make_unique<VulkanMemories>(context_, 0);
    auto stream = VulkanStream::Create(context_, memories_.get());
    ASSERT_TRUE(stream) << stream.error().message;
    stream_ = std::move(*stream);
    auto piece = memories_->readback.Allocate(4096, nullptr);
    ASSERT_TRUE(piece);
    piece_ = *piece;
  }

  void TearDown() override {
    stream_.reset();
    if (memories_) memories_->readback.Free(piece_);
  }

  // As many fills of four bytes each, the first with `value`.
  void Fill(int count, uint32_t value, const CancelToken* cancel = nullptr) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(stream_->MakeRoom(cancel));
      const VulkanPlace to{&VulkanMemory::BlockOf(*piece_),
                           static_cast<VkDeviceSize>(piece_->offset + i % 1024 * 4)};
      stream_->operations().Fill(i % 1024 == 0, to, 4, value + static_cast<uint32_t>(i));
    }
  }
  void Wait() {
    Status status = stream_->Wait(nullptr);
    ASSERT_TRUE(status) << status.error().message;
  }
  uint32_t Word(int index) const {
    uint32_t word = 0;
    std::memcpy(&word, VulkanMemory::HostOf(*piece_) + index * 4, 4);
    return word;
  }

  std::shared_ptr<VulkanContext> context_;
  std::unique_ptr<VulkanMemories> memories_;
  std::unique_ptr<VulkanStream> stream_;
  const VulkanMemory::Piece* piece_ = nullptr;
};

TEST_F(VulkanStreamTest, TheSameWorkIsRecordedOnce) {
  for (int round = 0; round < 5; ++round) {
    std::memset(VulkanMemory::HostOf(*piece_), 0, 4096);
    Fill(1000, 7);
    Wait();
    EXPECT_EQ(Word(0), 7u);
    EXPECT_EQ(Word(999), 1006u);
  }
  const int64_t recorded = stream_->recorded();
  EXPECT_GE(recorded, 5);   // 1000 operations are several batches
  EXPECT_LE(recorded, 10);  // and five rounds are no more
}

// Calls with different dims take turns.
TEST_F(VulkanStreamTest, SomeKindsOfWorkAreKept) {
  for (int round = 0; round < 10; ++round) {
    for (uint32_t value : {1u, 2u, 3u}) {
      Fill(5, value);
      Wait();
      EXPECT_EQ(Word(4), value + 4);
    }
  }
  EXPECT_EQ(stream_->recorded(), 3);
  for (uint32_t value = 0; value < 100; ++value) {
    Fill(5, 10 * value);
    Wait();
    EXPECT_EQ(Word(4), 10 * value + 4);
  }
  EXPECT_EQ(stream_->recorded(), 103);
}

TEST_F(VulkanStreamTest, MuchWorkWithoutAWaitTakesBatchesInTurn) {
  Fill(100'000, 1);
  Wait();
  EXPECT_EQ(Word(100'000 % 1024 - 1), 100'000u);
}

// Until the token says that nobody wants it any more; what was submitted goes on.
TEST_F(VulkanStreamTest, ABatchIsWaitedForUntilTheTokenSaysSo) {
  constexpr int kBatches = 64;
  {
    const testing::BusyVulkan busy(context_.get());
    for (int i = 0; i < kBatches; ++i) {
      const testing::TestToken patient(2);
      Fill(1, static_cast<uint32_t>(i), &patient);
      ASSERT_TRUE(stream_->Submit());
      EXPECT_EQ(patient.asked(), 0) << i;
    }
    for (int round = 1; round < 4; ++round) {
      const testing::TestToken token(round);
      const auto room = stream_->MakeRoom(&token);
      ASSERT_FALSE(room);
      EXPECT_EQ(room.error().code, Code::kCancelled);
      EXPECT_EQ(room.error().message, "stopped while waiting for vulkan:0");
      EXPECT_EQ(token.asked(), round);
    }
  }
  Fill(1, kBatches);
  Wait();
  EXPECT_EQ(Word(0), static_cast<uint32_t>(kBatches));
}

// Memory of another block at the same place is other work.
TEST_F(VulkanStreamTest, BlocksThatAreGoneAreNotMistaken) {
  int64_t recorded = 0;
  for (int round = 0; round < 4; ++round) {
    auto piece = memories_->upload.Allocate(100 << 20, nullptr);  // a block of its own
    ASSERT_TRUE(piece);
    ASSERT_TRUE(stream_->MakeRoom(nullptr));
    const VulkanPlace to{&VulkanMemory::BlockOf(**piece), static_cast<VkDeviceSize>((*piece)->offset)};
    stream_->operations().Fill(false, to, 1024, 5);
    Wait();
    EXPECT_EQ(VulkanMemory::HostOf(**piece)[1023], 0);
    EXPECT_EQ(VulkanMemory::HostOf(**piece)[1020], 5);
    memories_->upload.Free(*piece);
    memories_->upload.Trim();
    EXPECT_EQ(stream_->recorded(), ++recorded);
  }
}

TEST_F(VulkanStreamTest, AnEmptyBatchDoesNothing) {
  ASSERT_TRUE(stream_->MakeRoom(nullptr));
  Wait();
  ASSERT_TRUE(stream_->MakeRoom(nullptr));
  Wait();
  Fill(1, 9);
  Wait();
  EXPECT_EQ(Word(0), 9u);
}

}  // namespace
}  // namespace tvmvm
