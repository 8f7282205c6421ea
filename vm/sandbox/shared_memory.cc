#include "vm/sandbox/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "process/memory_file.h"

namespace tvmvm::sandbox {
namespace {

constexpr uint64_t kStep = uint64_t{1} << 18;  // files grow in these

tl::unexpected<Error> Refused(const char* what) {
  const Code code =
      errno == ENOMEM || errno == ENOSPC || errno == EFBIG ? Code::kOutOfMemory : Code::kUnsupported;
  return MakeError(code, std::string("shared memory: ") + what + ": " + std::strerror(errno));
}

void Unmap(void* memory, uint64_t bytes) {
  if (memory != nullptr) munmap(memory, bytes);
}

}  // namespace

SharedMemory::~SharedMemory() {
  Unmap(data_before_, size_before_);
  Unmap(data_, size_);
}

Status SharedMemory::Create() {
  TVMVM_TRY(file_, CreateMemoryFile());
  // Who could cut the file would make the other one's next access a fault.
  if (fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) return Refused("cannot seal a memory file");
  return {};
}

Status SharedMemory::Grow(uint64_t bytes) {
  if (bytes <= size_) return {};
  if (bytes > static_cast<uint64_t>(INT64_MAX) - kStep)
    return MakeError(Code::kOutOfMemory, "shared memory: too much");
  bytes = (bytes + kStep - 1) / kStep * kStep;
  if (ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) return Refused("cannot grow it");
  return Map(bytes);
}

Status SharedMemory::Map(uint64_t bytes) {
  if (bytes <= size_) return {};
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapped == MAP_FAILED) return Refused("cannot map it");
  Unmap(data_before_, size_before_);
  data_before_ = data_;
  size_before_ = size_;
  data_ = static_cast<std::byte*>(mapped);
  size_ = bytes;
  return {};
}

}  // namespace tvmvm::sandbox
