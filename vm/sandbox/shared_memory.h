// Memory that two processes map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bytecode/file_descriptor.h"
#include "tvm-vm/status.h"

namespace tvmvm::sandbox {

// A memory file and its mapping. It never shrinks, whoever asks for that: what is mapped can be touched.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  // A new file, without contents. Errors: kOutOfMemory, kUnsupported.
  Status Create();
  // Another process's, of which nothing is mapped yet.
  void Open(FileDescriptor file) { file_ = std::move(file); }
  // Makes the file at least as large, and maps all of it. Errors: kOutOfMemory; what is mapped stays so.
  Status Grow(uint64_t bytes);
  // Maps what somebody else made that large. The mapping before stays until the next one: values may lie in
  // it.
  Status Map(uint64_t bytes);

  int file() const { return file_.get(); }
  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  FileDescriptor file_;
  std::byte *data_ = nullptr, *data_before_ = nullptr;
  uint64_t size_ = 0, size_before_ = 0;
};

}  // namespace tvmvm::sandbox
