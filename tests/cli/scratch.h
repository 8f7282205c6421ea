// What the tool's tests share: a folder of their own, files with given bytes, and the tool as a child
// process.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/folders.h"

namespace tvmvm::cli {

// A new empty folder, removed with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = ::testing::TempDir() + "tvm-vm-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }
  // Names of all files in the folder.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::string path_;
};

inline void WriteBytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct ToolResult {
  int exit_code = -1;  // 128 + signal where one ended it
  std::string out, err;
};

inline std::string ToolPath() { return BuildPath("tvm-vm"); }

// Runs a shell command line in which `tvm-vm` is the tool under test.
inline ToolResult RunShell(const std::string& command) {
  ScratchFolder scratch;
  std::string line = "tvm-vm() { '" + ToolPath() + "' \"$@\"; }; { " + command + "; } >'" +
                     (scratch / "out") + "' 2>'" + (scratch / "err") + "' </dev/null";
  WriteBytes(scratch / "line.sh", line);
  int status = std::system(("bash '" + (scratch / "line.sh") + "'").c_str());
  ToolResult result{.out = ReadBytes(scratch / "out"), .err = ReadBytes(scratch / "err")};
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace tvmvm::cli
