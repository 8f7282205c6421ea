#include "bytecode/device_kinds.h"

#include <gtest/gtest.h>

#include <set>

#include "bytecode/text/names.h"

namespace tvmvm {
namespace {

TEST(DeviceKinds, AreFoundByTheirNames) {
  std::set<std::string> names;
  for (const DeviceKindInfo& info : kDeviceKinds) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_STREQ(DeviceKindName(info.kind), info.name);
    EXPECT_EQ(KindOfSelection(info.name), info.kind);
    EXPECT_EQ(ClassOf(info.kind), info.device_class);
  }
  EXPECT_EQ(KindOfSelection("Vulkan:1"), DeviceKind::kVulkan);
  for (const char* unknown : {"", ":", "vulkan ", "vulka", "metal:0"}) EXPECT_FALSE(KindOfSelection(unknown));
}

TEST(DeviceKinds, AreCountedUp) {
  EXPECT_EQ(DeviceKindNames(), "cpu, opencl, vulkan, null");
  EXPECT_EQ(DeviceKindNames(false), "cpu, opencl, vulkan");
}

TEST(DeviceKinds, NumbersWithoutRowAreUnknown) {
  const auto kind = static_cast<DeviceKind>(std::size(kDeviceKinds));
  EXPECT_EQ(InfoOf(kind), nullptr);
  EXPECT_STREQ(DeviceKindName(kind), "unknown");
  EXPECT_STREQ(DeviceClassName(static_cast<DeviceClass>(kDeviceClassCount)), "unknown");
  EXPECT_EQ(text::NameIn(kDeviceClassNames, static_cast<DeviceClass>(kDeviceClassCount)), "unknown");
  const auto form = static_cast<KernelForm>(std::size(kKernelForms));
  EXPECT_EQ(InfoOf(form), nullptr);
  EXPECT_STREQ(KernelFormMeaning(form), "unknown");
}

}  // namespace
}  // namespace tvmvm
