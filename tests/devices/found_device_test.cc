#include "devices/found_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tvmvm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FoundDevice Made(DeviceType type, int64_t memory_bytes, std::string unusable = "") {
  FoundDevice device;
  device.description.type = type;
  device.description.memory_bytes = memory_bytes;
  device.unusable = std::move(unusable);
  return device;
}

TEST(FoundDevice, FasterTypesComeFirstWhateverTheirMemory) {
  const FoundDevice found[] = {Made(DeviceType::kOther, 500), Made(DeviceType::kCpu, 400),
                               Made(DeviceType::kVirtualGpu, 300), Made(DeviceType::kIntegratedGpu, 200),
                               Made(DeviceType::kDiscreteGpu, 100)};
  EXPECT_THAT(FastestFirst(found), ElementsAre(4, 3, 2, 1, 0));
}

TEST(FoundDevice, OfOneTypeTheLargestMemoryComesFirst) {
  const FoundDevice found[] = {Made(DeviceType::kDiscreteGpu, 8), Made(DeviceType::kIntegratedGpu, 99),
                               Made(DeviceType::kDiscreteGpu, 24), Made(DeviceType::kDiscreteGpu, 16)};
  EXPECT_THAT(FastestFirst(found), ElementsAre(2, 3, 0, 1));
}

TEST(FoundDevice, EqualsStayAsTheyWereFound) {
  const FoundDevice found[] = {Made(DeviceType::kCpu, 1), Made(DeviceType::kDiscreteGpu, 8),
                               Made(DeviceType::kDiscreteGpu, 8), Made(DeviceType::kCpu, 1)};
  EXPECT_THAT(FastestFirst(found), ElementsAre(1, 2, 0, 3));
}

TEST(FoundDevice, UnusableDevicesComeLast) {
  const FoundDevice found[] = {Made(DeviceType::kDiscreteGpu, 80, "no 64-bit integers"),
                               Made(DeviceType::kCpu, 1)};
  EXPECT_THAT(FastestFirst(found), ElementsAre(1, 0));
  EXPECT_THAT(FastestFirst({}), IsEmpty());
}

TEST(FoundDevice, EveryTypeHasAName) {
  EXPECT_STREQ(DeviceTypeName(DeviceType::kDiscreteGpu), "discrete GPU");
  EXPECT_STREQ(DeviceTypeName(DeviceType::kOther), "device");
  EXPECT_STREQ(DeviceTypeName(static_cast<DeviceType>(99)), "device");
}

}  // namespace
}  // namespace tvmvm
