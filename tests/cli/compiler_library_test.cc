#include "cli/compiler_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tvm-vm/version.h"

namespace tvmvm::cli {
namespace {

TEST(CompilerLibrary, OtherVersionsAreRefused) {
  EXPECT_TRUE(CheckCompilerVersion(TVMVM_VERSION, "compiler.so"));
  EXPECT_TRUE(CheckCompilerVersion(TVMVM_VERSION + 1, "compiler.so")) << "a newer patch";
  const Status status = CheckCompilerVersion(TVMVM_VERSION + 1000, "compiler.so");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUnsupported);
  EXPECT_EQ(status.error().message, "compiler.so is version " + VersionText(TVMVM_VERSION + 1000) +
                                        " of the compiler, this tool is version " +
                                        VersionText(TVMVM_VERSION) + ": they do not go together");
}

}  // namespace
}  // namespace tvmvm::cli
