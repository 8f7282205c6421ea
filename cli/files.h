// Whole files: read into memory, or written so that a reader sees the old file or the new one and nothing
// between.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm::cli {

// An open file to read, or bytes that stand for one; closed by the destructor.
class InputFile {
 public:
  // Errors: kNotFound or kIo naming path and system error, kInvalidArgument. What is not a regular
  // file is refused, and waited for nothing: a folder, a pipe.
  static Expected<InputFile> Open(const std::string& path);
  // `path` is for messages.
  static InputFile FromBytes(std::string path, std::vector<std::byte> bytes);
  InputFile(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }
  // Reads exactly `bytes.size()` bytes at `offset`.
  Status ReadAt(int64_t offset, std::span<std::byte> bytes) const;

 private:
  int64_t CopyAt(int64_t offset, std::span<std::byte> bytes) const;
  InputFile(std::string path, int fd, int64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}
  std::string path_;
  int fd_;  // -1: the bytes
  int64_t size_;
  std::vector<std::byte> bytes_;
};

Expected<std::vector<std::byte>> ReadFile(const std::string& path);
// All that is left of standard input. Errors: kIo; kInvalidArgument where that is nothing.
Expected<std::vector<std::byte>> ReadStandardInput();
// The file's, or with "-" that of standard input.
Expected<std::string> ReadTextOrStandardInput(const std::string& path);
// "-" stands for standard input and output.
inline bool IsStandard(std::string_view path) { return path == "-"; }
// Whether both lead to one file that exists.
bool IsSameFile(const std::string& a, const std::string& b);
Expected<std::string> ReadTextFile(const std::string& path);

// Writes to a file without a name, or beside `path`, and names it in Commit; without Commit nothing is left
// behind. A symbolic link stays one: the file that it leads to is replaced. What is not a regular file
// (/dev/null, a pipe) is written directly; "-" is standard output. Errors name the path and the system error.
class OutputFile {
 public:
  static Expected<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  ~OutputFile();

  Status Write(std::span<const std::byte> bytes);
  Status Write(std::string_view text);
  Status Commit();

 private:
  OutputFile(std::string path, std::string temporary, int fd, bool is_direct)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd), is_direct_(is_direct) {}
  std::string path_;
  std::string temporary_;  // empty: no file has this name
  int fd_;
  bool is_direct_;
};

// Where a symbolic link leads to, else the path itself.
std::string BehindLinks(const std::string& path);
// True where `path` exists and is something else than a regular file.
bool IsSpecialFile(const std::string& path);
// Makes the folder and its parents.
Status MakeFolder(const std::string& path);

}  // namespace tvmvm::cli
