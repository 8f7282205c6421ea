// The conformance suite: what every device does. Here, what it tells of itself, its memory and copies. Linked
// with each device by a file that says what to skip and why.
#include <gmock/gmock.h>

#include "tests/devices/conformance_fixture.h"

namespace tvmvm::testing {
namespace {

using ::testing::HasSubstr;

std::vector<uint8_t> Bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
  return bytes;
}

TEST_F(Conformance, DescribesItself) {
  EXPECT_FALSE(device_->name().empty());
  EXPECT_EQ(device_->target().device, DeviceUnderTest().kind);
  EXPECT_FALSE(device_->description().hardware.empty());
  EXPECT_FALSE(device_->description().api.empty());
}

// Drivers are not loaded anew for each device: some have room for a few times only.
TEST_F(Conformance, OpensAndClosesManyTimes) {
  for (int i = 0; i < 40; ++i) {
    auto device = DeviceUnderTest().create({});
    ASSERT_TRUE(device) << i << ": " << device.error().message;
    auto queue = (*device)->NewQueue();
    ASSERT_TRUE(queue) << i << ": " << queue.error().message;
    EXPECT_EQ((*device)->name(), device_->name());
  }
}

TEST_F(Conformance, MemoryIsAlignedAndCounted) {
  const DeviceStatistics before = device_->statistics();
  for (int64_t bytes : {0, 1, 63, 64, 1000, 1 << 20}) {
    const DeviceMemory memory = Allocate(bytes);
    EXPECT_GE(memory.bytes, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.host) % 64, 0u);
  }
  const DeviceStatistics after = device_->statistics();
  EXPECT_EQ(after.live_bytes - before.live_bytes, 1 + 63 + 64 + 1000 + (1 << 20));
  EXPECT_GE(after.peak_bytes, after.live_bytes);
  EXPECT_GE(after.held_bytes, after.live_bytes);
}

TEST_F(Conformance, PiecesOfMemoryAreApart) {
  std::vector<DeviceMemory> pieces;
  for (int i = 0; i < 40; ++i) {
    pieces.push_back(Allocate(100 + i));
    ExpectOk(queue_->Fill({pieces.back(), 0}, static_cast<uint8_t>(i), 100 + i, nullptr));
  }
  for (int i = 0; i < 40; ++i)
    EXPECT_THAT(Download<uint8_t>({pieces[static_cast<size_t>(i)], 0}, static_cast<size_t>(100 + i)),
                ::testing::Each(i));
}

TEST_F(Conformance, CopiesAtOddPlaces) {
  const std::vector<uint8_t> bytes = Bytes(1000);
  const DeviceMemory memory = Allocate(3000), other = Allocate(3000);
  ExpectOk(queue_->Fill({memory, 0}, 0xee, 3000, nullptr));
  ExpectOk(queue_->CopyIn({memory, 13}, bytes.data(), 1000, nullptr));
  ExpectOk(queue_->Fill({other, 0}, 0xdd, 3000, nullptr));
  ExpectOk(queue_->Copy({other, 777}, {memory, 13}, 999, nullptr));
  ExpectOk(queue_->Copy({memory, 2001}, {memory, 14}, 7, nullptr));
  ExpectOk(queue_->CopyIn({memory, 3000}, bytes.data(), 0, nullptr));
  const auto first = Download<uint8_t>({memory, 0}, 3000), second = Download<uint8_t>({other, 0}, 3000);
  for (size_t i = 0; i < 3000; ++i) {
    uint8_t wanted = i >= 13 && i < 1013 ? bytes[i - 13] : 0xee;
    if (i >= 2001 && i < 2008) wanted = bytes[i - 2000];
    ASSERT_EQ(first[i], wanted) << i;
    ASSERT_EQ(second[i], i >= 777 && i < 1776 ? bytes[i - 777] : 0xdd) << i;
  }
  EXPECT_EQ(Download<uint8_t>({memory, 15}, 1)[0], bytes[2]);
}

TEST_F(Conformance, FillsAnyRange) {
  const DeviceMemory memory = Allocate(256);
  for (int64_t offset : {0, 1, 2, 3, 4, 7, 64}) {
    for (int64_t bytes : {0, 1, 3, 4, 5, 16, 17, 18, 19, 64, 101}) {
      ExpectOk(queue_->Fill({memory, 0}, 0, 256, nullptr));
      ExpectOk(queue_->Fill({memory, offset}, 0xab, bytes, nullptr));
      const auto found = Download<uint8_t>({memory, 0}, 256);
      for (int64_t i = 0; i < 256; ++i)
        ASSERT_EQ(found[static_cast<size_t>(i)], i >= offset && i < offset + bytes ? 0xab : 0)
            << bytes << " bytes at " << offset << ", byte " << i;
    }
  }
}

TEST_F(Conformance, CopiesMuch) {
  const std::vector<uint8_t> bytes = Bytes((90 << 20) + 5);
  const DeviceMemory memory = Upload(bytes);
  EXPECT_TRUE(Download<uint8_t>({memory, 0}, bytes.size()) == bytes);
}

// The host's memory is its own again when a call has returned, and work sees what was written in its order.
TEST_F(Conformance, TheHostMayChangeWhatItGave) {
  const DeviceMemory memory = Allocate(64 * 4);
  for (int32_t i = 0; i < 64; ++i) {
    int32_t value = i * i;
    ExpectOk(queue_->CopyIn({memory, i * 4}, &value, 4, nullptr));
    value = -1;
  }
  const auto found = Download<int32_t>({memory, 0}, 64);
  for (int32_t i = 0; i < 64; ++i) EXPECT_EQ(found[static_cast<size_t>(i)], i * i);
}

TEST_F(Conformance, RefusesPlacesOutside) {
  const DeviceMemory memory = Allocate(64), other = Allocate(64);
  char data[128] = {};
  const Status failures[] = {
      queue_->CopyIn({memory, 1}, data, 64, nullptr),
      queue_->CopyIn({memory, -1}, data, 2, nullptr),
      queue_->CopyOut(data, {memory, 65}, 0, nullptr),
      queue_->CopyOut(data, {memory, 0}, -1, nullptr),
      queue_->Copy({memory, 0}, {other, 1}, 64, nullptr),
      queue_->Copy({memory, INT64_MAX}, {other, 0}, 1, nullptr),
      queue_->Fill({memory, 60}, 0, 5, nullptr),
      queue_->Fill({memory, 0}, 0, INT64_MAX, nullptr),
  };
  for (const Status& status : failures) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kInvalidArgument) << status.error().message;
  }
}

TEST_F(Conformance, RefusesTooMuchMemory) {
  for (int64_t bytes : {INT64_MAX, INT64_MAX / 2, int64_t{1} << 50}) {
    auto memory = device_->Allocate(bytes, nullptr);
    ASSERT_FALSE(memory) << bytes;
    EXPECT_EQ(memory.error().code, Code::kOutOfMemory) << memory.error().message;
    EXPECT_THAT(memory.error().message, HasSubstr(std::to_string(bytes)));
  }
  EXPECT_NE(Allocate(1000).bytes, 0);
}

// Whatever happens to the memory afterwards: overwritten, given back and taken by another queue.
TEST_F(Conformance, CopiesToTheHostGiveWhatWasThere) {
  const DeviceMemory ones = Upload(std::vector<int32_t>(64, 1)), twos = Upload(std::vector<int32_t>(64, 2));
  auto other = device_->NewQueue();
  ASSERT_TRUE(other) << other.error().message;
  for (int64_t bytes : {4, 64, 256}) {
    for (bool flushes : {false, true}) {
      auto memory = device_->Allocate(256, nullptr);
      ASSERT_TRUE(memory) << memory.error().message;
      std::vector<int32_t> before(64), after(64), freed(64);
      ExpectOk(queue_->Fill({*memory, 0}, 0, 256, nullptr));
      ExpectOk(queue_->Copy({*memory, 0}, {ones, 0}, 256, nullptr));
      ExpectOk(queue_->CopyOut(before.data(), {*memory, 0}, bytes, nullptr));
      ExpectOk(queue_->Copy({*memory, 0}, {twos, 0}, 256, nullptr));
      ExpectOk(queue_->CopyOut(after.data(), {*memory, 0}, bytes, nullptr));
      ExpectOk(queue_->CopyOut(freed.data(), {*memory, 0}, bytes, nullptr));
      if (flushes) ExpectOk(queue_->Flush());
      queue_->FreeAfterWork(*memory);
      const DeviceMemory next = Allocate(256);
      ExpectOk((*other)->Fill({next, 0}, 0x55, 256, nullptr));
      ASSERT_TRUE((*other)->Wait(nullptr));
      ExpectFine();
      const auto count = static_cast<size_t>(bytes / 4);
      for (size_t i = 0; i < 64; ++i) {
        ASSERT_EQ(before[i], i < count ? 1 : 0) << i;
        ASSERT_EQ(after[i], i < count ? 2 : 0) << i;
        ASSERT_EQ(freed[i], after[i]) << i;
      }
    }
  }
}

// What is on one of the two is nothing to the other, which outlives it.
TEST_F(Conformance, IsOpenedAnew) {
  const DeviceMemory old = Upload(std::vector<int32_t>(64, 1));
  auto again = device_->Reopen();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->name(), device_->name());
  EXPECT_EQ((*again)->description().hardware, device_->description().hardware);
  EXPECT_EQ((*again)->statistics().live_bytes, 0);
  EXPECT_THAT(Download<int32_t>({old, 0}, 64), ::testing::Each(1));
  TearDown();
  memory_.clear();
  device_ = std::move(*again);
  queue_ = std::move(device_->NewQueue().value());
  const DeviceMemory fresh = Upload(std::vector<int32_t>(64, 2));
  EXPECT_THAT(Download<int32_t>({fresh, 0}, 64), ::testing::Each(2));
}

TEST_F(Conformance, ObeysItsBudget) {
  DeviceOptions options;
  options.max_bytes = 10 << 20;
  auto device = DeviceUnderTest().create(options);
  ASSERT_TRUE(device) << device.error().message;
  auto small = (*device)->Allocate(6 << 20, nullptr);
  ASSERT_TRUE(small) << small.error().message;
  auto large = (*device)->Allocate(6 << 20, nullptr);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::kOutOfMemory);
  (*device)->Free(*small);
}

}  // namespace
}  // namespace tvmvm::testing
