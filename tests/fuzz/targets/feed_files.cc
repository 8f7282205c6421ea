// In place of libFuzzer: feeds a target with files, and with those of folders.
//
//   fuzz_NAME [--changes N] [--seed S] [--keep FILE] FILE_OR_FOLDER...
//
// Each is given once as it is, then N times changed at random. What is given is written to the file to keep
// before, so that an input that ends the process is there.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/targets/target.h"
#include "tests/models/corruption.h"

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

struct Arguments {
  uint32_t changes = 0, seed = 0;
  std::string keep;
  std::vector<fs::path> files;
};

Arguments Parse(int count, char** arguments) {
  Arguments parsed;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const char* value = i + 1 < count ? arguments[i + 1] : "";
    if (argument == "--changes" || argument == "--seed") {
      (argument == "--seed" ? parsed.seed : parsed.changes) = static_cast<uint32_t>(std::atoll(value));
      ++i;
    } else if (argument == "--keep") {
      parsed.keep = value;
      ++i;
    } else if (!fs::is_directory(argument)) {
      parsed.files.emplace_back(argument);
    } else {
      for (const auto& entry : fs::directory_iterator(argument)) parsed.files.push_back(entry.path());
    }
  }
  std::sort(parsed.files.begin(), parsed.files.end());  // a seed means the same everywhere
  return parsed;
}

void Feed(const Bytes& bytes, const std::string& keep) {
  if (!keep.empty())
    std::ofstream(keep, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int count, char** arguments) {
  const Arguments parsed = Parse(count, arguments);
  std::vector<Bytes> inputs;
  for (const fs::path& path : parsed.files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::fprintf(stderr, "%s cannot be read\n", path.c_str()), 1;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    inputs.emplace_back(bytes.begin(), bytes.end());
    Feed(inputs.back(), parsed.keep);
  }
  if (inputs.empty()) return std::fprintf(stderr, "no files\n"), 1;
  tvmvm::Corruption corruption(parsed.seed);
  for (uint32_t i = 0; i < parsed.changes; ++i)
    Feed(corruption.Apply(inputs[i % inputs.size()]), parsed.keep);
  return std::printf("%zu files, %u changes\n", inputs.size(), parsed.changes), 0;
}
