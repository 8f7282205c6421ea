#include "process/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace tvmvm {
namespace {

tl::unexpected<Error> Refused(const char* what) {
  const Code code =
      errno == ENOMEM || errno == ENOSPC || errno == EFBIG ? Code::kOutOfMemory : Code::kUnsupported;
  return MakeError(code, std::string("memory file: ") + what + ": " + std::strerror(errno));
}

}  // namespace

Expected<FileDescriptor> CreateMemoryFile() {
  FileDescriptor file(memfd_create("tvm-vm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) return Refused("cannot make one");
  return file;
}

Status SealMemoryFile(int file) {
  if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return Refused("cannot seal it");
  return {};
}

Expected<FileDescriptor> SealedMemoryFile(std::span<const std::byte> contents) {
  TVMVM_TRY(FileDescriptor file, CreateMemoryFile());
  while (!contents.empty()) {
    const ssize_t written = write(file.get(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Refused("cannot write it");
    contents = contents.subspan(static_cast<size_t>(written));
  }
  TVMVM_CHECK_OK(SealMemoryFile(file.get()));
  return file;
}

Expected<MappedBytes> MapToRead(int file) {
  struct stat status;
  if (fstat(file, &status) != 0)
    return MakeError(Code::kIo, std::string("memory file: ") + std::strerror(errno));
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return MappedBytes{};
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapped == MAP_FAILED) return Refused("cannot map it");
  std::shared_ptr<const void> owner(mapped,
                                    [size](const void* memory) { munmap(const_cast<void*>(memory), size); });
  return MappedBytes{{static_cast<const std::byte*>(mapped), size}, std::move(owner)};
}

}  // namespace tvmvm
