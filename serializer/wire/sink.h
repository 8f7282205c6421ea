// Where the writer's bytes go: memory, or a file that replaces another only when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bytecode/file_descriptor.h"
#include "tvm-vm/status.h"

namespace tvmvm::wire {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status Append(std::span<const std::byte> bytes) = 0;
  // Replaces bytes that were appended.
  virtual Status Overwrite(uint64_t offset, std::span<const std::byte> bytes) = 0;
};

class MemorySink : public Sink {
 public:
  Status Append(std::span<const std::byte> bytes) override;
  Status Overwrite(uint64_t offset, std::span<const std::byte> bytes) override;
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Writes to a file without a name in the folder of `path`, which Commit gives it: without Commit nothing is
// left behind, whatever ends the process. Where the file system has no such files, a temporary one stands
// beside `path`.
class FileSink : public Sink {
 public:
  // Errors: kInvalidArgument, kNotFound, kOutOfMemory, kIo with the path and the system's reason.
  static Expected<std::unique_ptr<FileSink>> Create(const std::string& path);
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  Status Append(std::span<const std::byte> bytes) override;
  Status Overwrite(uint64_t offset, std::span<const std::byte> bytes) override;
  // Syncs and names it `path`, in place of what had the name.
  Status Commit();

 private:
  explicit FileSink(const std::string& path) : path_(path) {}
  Status Failed(const char* what, int error) const;
  Status WriteAll(uint64_t offset, std::span<const std::byte> bytes);

  // Gives a file without a name the temporary one. 0, or the system's error.
  int Link();

  std::string path_;
  std::string temporary_;  // empty: the file has no name, or its last one
  FileDescriptor file_{-1};
  uint64_t size_ = 0;
};

}  // namespace tvmvm::wire
