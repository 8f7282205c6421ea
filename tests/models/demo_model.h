// The demo model's bytes, as make_demo_model writes them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/folders.h"

namespace tvmvm {

inline constexpr int64_t kDemoWidth = 64;  // x and y are f32[batch, length, 64]

inline std::vector<std::byte> DemoModel() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string path = testing::TempDir() + test->test_suite_name() + "_" + test->name() + ".onnx";
  EXPECT_EQ(std::system((BuildPath("make_demo_model") + " '" + path + "'").c_str()), 0);
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::filesystem::remove(path);
  return bytes;
}

}  // namespace tvmvm
