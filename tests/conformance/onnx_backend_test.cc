// The ONNX backend tests, all in one run of `tvm-vm test`: nothing crashes or hangs, and all pass but those
// named here.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/folders.h"
#include "tests/require.h"
#include "tests/sanitizer.h"

namespace tvmvm {
namespace {

// Node tests that do not pass, each with its reason; none today.
const std::set<std::string> kExcepted = {};

constexpr size_t kNodeTests = 1802;

// Under a sanitizer every eighth folder, for time.
constexpr int kStep = kSanitized ? 8 : 1;

std::string TestFolders(const std::string& folder) {
  if (kStep == 1) return " " + folder + "/*";
  std::set<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) all.insert(entry.path().string());
  std::string chosen;
  int index = 0;
  for (const std::string& path : all)
    if (index++ % kStep == 0) chosen += " '" + path + "'";
  return chosen;
}

TEST(OnnxBackend, NodeTests) {
  std::string folder = SharedPath("onnx/node");
  if (!std::filesystem::exists(folder)) TVMVM_SKIP_WITHOUT("onnx", "no " << folder << " beside the project");
  std::string report = testing::TempDir() + "onnx_node.json";
  std::string command = BuildPath("tvm-vm") + " test" + TestFolders(folder) + " --json --timeout 120 > " +
                        report + " 2>/dev/null";
  [[maybe_unused]] int exit_code = std::system(command.c_str());
  std::ifstream file(report);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(json.is_object()) << "no report in " << report;
  if (kStep > 1) std::printf("every %dth folder only: a sanitizer makes all take too long\n", kStep);
  EXPECT_GE(json["tests"].size(), kNodeTests / kStep);
  for (const auto& test : json["tests"]) {
    std::string detail = test.value("detail", "");
    const bool passes = test["outcome"] == "pass";
    EXPECT_NE(passes, kExcepted.contains(test["name"].get<std::string>()))
        << test["name"] << ": " << test["outcome"] << ": " << detail;
    EXPECT_EQ(detail.find("crashed"), std::string::npos) << test["name"] << ": " << detail;
    EXPECT_EQ(detail.find("no answer within"), std::string::npos) << test["name"] << ": " << detail;
  }
}

}  // namespace
}  // namespace tvmvm
