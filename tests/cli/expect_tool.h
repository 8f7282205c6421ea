// How the tool says that it cannot do what it is asked to.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cli/console.h"
#include "tests/cli/scratch.h"

namespace tvmvm::cli {

inline void ExpectUsageError(const std::string& command, const std::string& message) {
  ToolResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, kExitUsage) << command << "\n" << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr(message)) << command;
  EXPECT_THAT(result.err, ::testing::StartsWith("tvm-vm: ")) << command;
  EXPECT_THAT(result.out, ::testing::IsEmpty()) << command;
}

// One line on standard error that begins with "tvm-vm: ", behind what was assumed.
inline void ExpectFailure(const std::string& command, const std::string& message) {
  ToolResult result = RunShell(command);
  if (result.err.starts_with("assumed for inputs that are made: "))
    result.err.erase(0, result.err.find('\n') + 1);
  EXPECT_EQ(result.exit_code, kExitFailed) << command << "\n" << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr(message)) << command;
  EXPECT_THAT(result.err, ::testing::StartsWith("tvm-vm: ")) << command;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << command << "\n" << result.err;
}

}  // namespace tvmvm::cli
