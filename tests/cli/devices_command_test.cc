// `tvm-vm devices`: what the machine has, and why it has no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/scratch.h"

namespace tvmvm::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(DevicesCommand, ListsTheCpuFirst) {
  ToolResult text = RunShell("tvm-vm devices");
  EXPECT_EQ(text.exit_code, kExitOk) << text.err;
  EXPECT_THAT(text.out, StartsWith("cpu "));
  ToolResult result = RunShell("tvm-vm devices --json");
  const json listing = json::parse(result.out, nullptr, false);
  ASSERT_FALSE(listing.is_discarded()) << result.out;
  ASSERT_GE(listing["devices"].size(), 1u);
  const json& cpu = listing["devices"][0];
  EXPECT_EQ(cpu["name"], "cpu");
  EXPECT_EQ(cpu["type"], "CPU");
  EXPECT_EQ(cpu["usable"], true);
  for (const char* key : {"kind", "hardware", "driver", "api", "type", "memory_bytes", "features"})
    EXPECT_TRUE(cpu.contains(key)) << key;
}

TEST(DevicesCommand, SaysWhyThereAreNoOthers) {
  const std::string hidden =
      "OCL_ICD_VENDORS=/nonexistent/ VK_ICD_FILENAMES=/nonexistent.json VK_DRIVER_FILES=/nonexistent.json ";
  ToolResult result = RunShell(hidden + "tvm-vm devices");
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.err, HasSubstr("opencl: "));
  EXPECT_THAT(result.err, HasSubstr("vulkan: "));
}

}  // namespace
}  // namespace tvmvm::cli
