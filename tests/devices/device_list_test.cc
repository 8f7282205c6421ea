#include "tvm-vm/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace tvmvm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(DeviceList, HasTheCpuFirst) {
  const DeviceListing listing = ListDevices();
  ASSERT_FALSE(listing.devices.empty());
  EXPECT_EQ(listing.devices[0].name, "cpu");
  EXPECT_FALSE(listing.devices[0].description.hardware.empty());
}

TEST(DeviceList, EveryUsableDeviceOpensByItsName) {
  for (const ListedDevice& listed : ListDevices().devices) {
    auto device = OpenDevice(listed.name, {});
    EXPECT_EQ(device.has_value(), listed.unusable.empty()) << listed.name;
    if (device) {
      EXPECT_EQ((*device)->name(), listed.name);
      EXPECT_EQ((*device)->description().hardware, listed.description.hardware);
    }
  }
}

// What a kind's name alone selects is the first of those that are listed.
TEST(DeviceList, AKindMeansItsFastestDevice) {
  std::map<DeviceKind, ListedDevice> first;
  for (const ListedDevice& listed : ListDevices().devices) {
    const auto [entry, is_first] = first.emplace(listed.kind, listed);
    const ListedDevice& faster = entry->second;
    EXPECT_TRUE(is_first || !listed.unusable.empty() || faster.description.type <= listed.description.type);
    if (!is_first || !listed.unusable.empty()) continue;
    auto device = OpenDevice(DeviceKindName(listed.kind), {});
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ((*device)->name(), listed.name);
  }
}

TEST(DeviceList, SelectsByPartOfTheNameInAnyCase) {
  for (const ListedDevice& listed : ListDevices().devices) {
    if (!listed.unusable.empty()) continue;
    std::string wanted = listed.description.hardware.substr(0, 5);
    for (char& c : wanted) c = static_cast<char>(std::toupper(c));
    auto device = OpenDevice(std::string(DeviceKindName(listed.kind)) + ":" + wanted, {});
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_THAT((*device)->name(), StartsWith(DeviceKindName(listed.kind)));
  }
}

TEST(DeviceList, SaysWhatThereIs) {
  auto kind = OpenDevice("cuda", {});
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().code, Code::kInvalidArgument);
  EXPECT_EQ(kind.error().message, "no kind of devices 'cuda': there are cpu, opencl, vulkan, null");
  auto device = OpenDevice("cpu:abacus", {});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, Code::kNotFound);
  EXPECT_THAT(device.error().message, HasSubstr("no device 'cpu:abacus': there are cpu ("));
  EXPECT_FALSE(OpenDevice("", {}));
  EXPECT_FALSE(OpenDevice("cpu:1", {}));
  EXPECT_FALSE(OpenDevice("cpu:99999999999999999999", {}));
  EXPECT_TRUE(OpenDevice("CPU", {}));
  EXPECT_TRUE(OpenDevice("null", {}));
}

void CheckWithoutDrivers() {
  setenv("OCL_ICD_VENDORS", "/nonexistent/", 1);
  setenv("VK_ICD_FILENAMES", "/nonexistent.json", 1);
  setenv("VK_DRIVER_FILES", "/nonexistent.json", 1);
  const DeviceListing listing = ListDevices();
  EXPECT_EQ(listing.devices.size(), 1u);
  EXPECT_THAT(listing.absent, Contains(StartsWith("opencl: ")));
  EXPECT_THAT(listing.absent, Contains(StartsWith("vulkan: ")));
  for (const char* name : {"opencl", "vulkan"}) {
    auto device = OpenDevice(name, {});
    EXPECT_FALSE(device);
    if (!device) {
      EXPECT_EQ(device.error().code, Code::kNotFound) << device.error().message;
    }
  }
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
}

// In a process of its own: loaders read the environment once.
TEST(DeviceListDeathTest, MachinesWithoutDriversHaveTheCpu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(CheckWithoutDrivers(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tvmvm
