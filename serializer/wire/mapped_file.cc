#include "serializer/wire/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bytecode/file_descriptor.h"

namespace tvmvm::wire {
namespace {

tl::unexpected<Error> SystemError(const std::string& path, const char* what, int error) {
  return MakeError(CodeOfSystemError(error), fmt::format("{}: {}: {}", path, what, std::strerror(error)));
}

Expected<Blob> MapOpenFile(const std::string& path, int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return SystemError(path, "cannot read its size", errno);
  if (!S_ISREG(info.st_mode))
    return MakeError(Code::kInvalidArgument, fmt::format("{}: no regular file", path));
  if (info.st_size == 0) return MakeError(Code::kInvalidProgram, fmt::format("{}: the file is empty", path));
  auto size = static_cast<size_t>(info.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) return SystemError(path, "cannot map the file", errno);
  std::shared_ptr<const void> owner(memory, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return Blob{{static_cast<const std::byte*>(memory), size}, std::move(owner)};
}

}  // namespace

Expected<Blob> MapFile(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return SystemError(path, "cannot open the file", errno);
  return MapOpenFile(path, file.get());
}

}  // namespace tvmvm::wire
