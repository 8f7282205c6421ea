// A file of the system that is open, and what the system's reasons mean as codes.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tvm-vm/status.h"

namespace tvmvm {

// Owns it.
class FileDescriptor {
 public:
  explicit FileDescriptor(int file = -1) : file_(file) {}  // -1: none
  ~FileDescriptor() { (void)Close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) Take(std::exchange(other.file_, -1));
    return *this;
  }

  int get() const { return file_; }
  void Take(int file) {
    (void)Close();
    file_ = file;
  }
  // 0, or -1 with errno as close; afterwards it is closed in either case.
  int Close() { return file_ < 0 ? 0 : ::close(std::exchange(file_, -1)); }

 private:
  int file_;
};

inline Code CodeOfSystemError(int error) {
  return error == ENOENT ? Code::kNotFound : error == ENOMEM ? Code::kOutOfMemory : Code::kIo;
}

}  // namespace tvmvm
