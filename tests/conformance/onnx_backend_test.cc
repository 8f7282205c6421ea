// The ONNX backend tests, all in one run of `tvm-vm test`: nothing crashes or hangs, and what passes stays
// passing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace tvmvm {
namespace {

// Raised with every operator that is added; a fall below is a regression.
constexpr int kPassingNodeTests = 1000;

TEST(OnnxBackend, NodeTests) {
  std::string folder = std::string(TVMVM_SHARED_DIR) + "/onnx/node";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder << " beside the project";
  std::string report = testing::TempDir() + "onnx_node.json";
  std::string command = std::string(TVMVM_BINARY_DIR) + "/tvm-vm test " + folder +
                        "/* --json --timeout 120 > " + report + " 2>/dev/null";
  [[maybe_unused]] int exit_code = std::system(command.c_str());
  std::ifstream file(report);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(json.is_object()) << "no report in " << report;
  EXPECT_GE(json["passed"].get<int>(), kPassingNodeTests);
  for (const auto& test : json["tests"]) {
    std::string detail = test.value("detail", "");
    EXPECT_EQ(detail.find("crashed"), std::string::npos) << test["name"] << ": " << detail;
    EXPECT_EQ(detail.find("no answer within"), std::string::npos) << test["name"] << ": " << detail;
  }
}

}  // namespace
}  // namespace tvmvm
