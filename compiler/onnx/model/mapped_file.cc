#include "compiler/onnx/model/mapped_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace tvmvm::ir {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  int get() const { return value_; }
  bool valid() const { return value_ >= 0; }

 private:
  int value_;
};

tl::unexpected<Error> SystemError(std::string_view shown, int error) {
  Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kIo;
  return MakeError(code, fmt::format("cannot open '{}': {}", shown, std::strerror(error)));
}

Expected<std::vector<std::string>> SplitLocation(std::string_view location) {
  auto refuse = [&](std::string_view reason) {
    return MakeError(Code::kInvalidArgument, fmt::format("external data location '{}' {}", location, reason));
  };
  if (location.empty()) return refuse("is empty");
  if (location.front() == '/') return refuse("is absolute, it must be beneath the model's folder");
  if (location.find('\0') != std::string_view::npos) return refuse("holds a zero byte");
  std::vector<std::string> parts;
  while (!location.empty()) {
    size_t slash = location.find('/');
    std::string_view part = location.substr(0, slash);
    location = slash == std::string_view::npos ? std::string_view() : location.substr(slash + 1);
    if (part == "..") return refuse("leaves the model's folder");
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  if (parts.empty()) return refuse("names a folder");
  return parts;
}

// O_NONBLOCK keeps a named pipe from blocking the open; it means nothing for regular files.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

// Walks part by part with O_NOFOLLOW: for kernels and sandboxes without openat2.
int OpenByParts(int folder, const std::vector<std::string>& parts) {
  Descriptor at(-1);
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    int base = at.valid() ? at.get() : folder;
    Descriptor next(openat(base, parts[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return -1;
    at = std::move(next);
  }
  return openat(at.valid() ? at.get() : folder, parts.back().c_str(), kOpenFlags | O_NOFOLLOW);
}

int OpenBeneath(int folder, const std::vector<std::string>& parts) {
  std::string path;
  for (const std::string& part : parts) path += (path.empty() ? "" : "/") + part;
  open_how how = {};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int descriptor = static_cast<int>(syscall(SYS_openat2, folder, path.c_str(), &how, sizeof(how)));
  if (descriptor >= 0 || (errno != ENOSYS && errno != EPERM && errno != EINVAL)) return descriptor;
  return OpenByParts(folder, parts);
}

}  // namespace

Expected<std::shared_ptr<const MappedFile>> MappedFile::Map(int descriptor, const std::string& shown) {
  struct stat info = {};
  if (fstat(descriptor, &info) != 0) return SystemError(shown, errno);
  if (!S_ISREG(info.st_mode))
    return MakeError(Code::kInvalidArgument, fmt::format("'{}' is not a regular file", shown));
  auto file = std::shared_ptr<MappedFile>(new MappedFile());
  file->size_ = static_cast<size_t>(info.st_size);
  if (file->size_ == 0) return file;
  void* address = mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) {
    file->size_ = 0;
    return SystemError(shown, errno);
  }
  file->address_ = address;
  return file;
}

Expected<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  Descriptor descriptor(open(path.c_str(), kOpenFlags));
  if (!descriptor.valid()) return SystemError(path, errno);
  return Map(descriptor.get(), path);
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) munmap(address_, size_);
}

Expected<ModelFolder> ModelFolder::Create(const std::string& path) {
  ModelFolder folder;
  if (path.empty()) return folder;
  folder.descriptor_ = open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder.descriptor_ < 0) return SystemError(path, errno);
  return folder;
}

ModelFolder::ModelFolder(ModelFolder&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

ModelFolder& ModelFolder::operator=(ModelFolder&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ModelFolder::~ModelFolder() {
  if (descriptor_ >= 0) close(descriptor_);
}

Expected<std::shared_ptr<const MappedFile>> ModelFolder::Open(std::string_view location) const {
  TVMVM_TRY(std::vector<std::string> parts, SplitLocation(location));
  const std::string shown(location);
  if (descriptor_ < 0)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("external data '{}' needs a model that was read from a file", shown));
  Descriptor descriptor(OpenBeneath(descriptor_, parts));
  if (!descriptor.valid() && (errno == ELOOP || errno == EXDEV))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("external data '{}' goes through a symbolic link", shown));
  if (!descriptor.valid()) return SystemError(shown, errno);
  struct stat info = {};
  if (fstat(descriptor.get(), &info) != 0) return SystemError(shown, errno);
  if (S_ISREG(info.st_mode) && info.st_nlink != 1)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("external data '{}' has {} hard links, 1 is allowed", shown, info.st_nlink));
  return MappedFile::Map(descriptor.get(), shown);
}

}  // namespace tvmvm::ir
