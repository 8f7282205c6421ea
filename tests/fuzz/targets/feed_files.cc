// In place of libFuzzer: feeds a target with files, and with those of folders, once each.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/targets/target.h"

namespace fs = std::filesystem;

int main(int count, char** arguments) {
  std::vector<fs::path> files;
  for (int i = 1; i < count; ++i) {
    if (!fs::is_directory(arguments[i])) files.emplace_back(arguments[i]);
    if (fs::is_directory(arguments[i]))
      for (const auto& entry : fs::directory_iterator(arguments[i])) files.push_back(entry.path());
  }
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::fprintf(stderr, "%s cannot be read\n", path.c_str()), 1;
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  if (files.empty()) return std::fprintf(stderr, "no files\n"), 1;
  return std::printf("%zu files\n", files.size()), 0;
}
