// What a service links stays small.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/folders.h"
#include "tests/sanitizer.h"

namespace tvmvm::meta {
namespace {

bool IsReleaseBuild() {
#ifdef NDEBUG
  return !kSanitized;
#else
  return false;
#endif
}

TEST(LibrarySize, RuntimeWithAllDevicesStaysSmall) {
  constexpr uintmax_t kMostBytes = 1'350'000;
  if (!IsReleaseBuild())
    GTEST_SKIP() << "the size counts in release builds: this one holds checks or a sanitizer";
  std::string stripped = testing::TempDir() + "libtvm-vm.stripped.so";
  std::string command = "strip -o '" + stripped + "' '" + BuildPath("libtvm-vm.so") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  EXPECT_LE(std::filesystem::file_size(stripped), kMostBytes);
  std::filesystem::remove(stripped);
}

}  // namespace
}  // namespace tvmvm::meta
