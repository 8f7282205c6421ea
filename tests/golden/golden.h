// Golden files: an input, a line "----", and what a stage makes of it. TVMVM_UPDATE_GOLDEN=1 rewrites the
// second part.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tests/folders.h"

namespace tvmvm {

inline bool UpdateGolden() {
  const char* update = std::getenv("TVMVM_UPDATE_GOLDEN");
  return update != nullptr && std::string_view(update) == "1";
}

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Runs `stage` on the input of every file of tests/golden/<folder> and compares.
inline void CheckGolden(const std::string& folder,
                        const std::function<std::string(const std::string&)>& stage) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("tests/golden/") + folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  ASSERT_FALSE(paths.empty());
  const std::string separator = "----\n";
  for (const auto& path : paths) {
    SCOPED_TRACE(path.string());
    std::string text = ReadText(path);
    size_t at = text.find("\n" + separator);
    std::string input = text.substr(0, at == std::string::npos ? at : at + 1);
    std::string output = stage(input);
    if (UpdateGolden()) {
      std::ofstream(path, std::ios::binary) << input << separator << output;
    } else if (at == std::string::npos) {
      ADD_FAILURE() << "no line ---- with the expected text behind it";
    } else {
      EXPECT_EQ(text.substr(at + 1 + separator.size()), output);
    }
  }
}

}  // namespace tvmvm
