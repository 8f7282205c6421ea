// Files that lie in memory and have no name, which two processes share.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "bytecode/file_descriptor.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// An empty one, which is closed where another program is started. Errors: kOutOfMemory, kUnsupported.
Expected<FileDescriptor> CreateMemoryFile();
// From now on nobody can change it. Errors: kUnsupported, also where it is mapped to be written.
Status SealMemoryFile(int file);
// One with these contents, which nobody can change. Errors: as those two.
Expected<FileDescriptor> SealedMemoryFile(std::span<const std::byte> contents);

// A file of the system's, mapped to be read as long as the owner lives, though it is closed. What can be cut
// must not be mapped so. Errors: kOutOfMemory, kIo.
struct MappedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
Expected<MappedBytes> MapToRead(int file);

}  // namespace tvmvm
