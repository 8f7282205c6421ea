// Parts that a machine may lack: a test that needs one is skipped where it is missing, and fails where
// $TVMVM_REQUIRE ("vulkan,opencl,onnx,glslang,valgrind,compiler") names it, so that a machine that should
// have it cannot lose it unseen.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace tvmvm {

// `part` may go on behind the name: "vulkan:1".
inline bool TestsRequire(std::string_view part) {
  const char* variable = std::getenv("TVMVM_REQUIRE");
  std::string_view list = variable == nullptr ? "" : variable;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    if (!name.empty() && part.substr(0, part.find(':')) == name) return true;
    list.remove_prefix(std::min(list.size(), name.size() + 1));
  }
  return false;
}

}  // namespace tvmvm

#define TVMVM_SKIP_WITHOUT(part, reason)                                          \
  do {                                                                            \
    if (::tvmvm::TestsRequire(part))                                              \
      FAIL() << (part) << " is required, but: " << reason; /* NOLINT: a stream */ \
    GTEST_SKIP() << reason;                                                       \
  } while (false)
