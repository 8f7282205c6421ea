#include "devices/cpu/kernel_loader.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "devices/cpu/elf_check.h"

namespace tvmvm {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

tl::unexpected<Error> SystemRefuses(const std::string& what, const char* reason) {
  return MakeError(Code::kUnsupported, "kernel library: " + what + ": " + reason);
}

Status WriteAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return SystemRefuses("cannot write to memory file", std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

// A path of the descriptor that no earlier call returned: the loader takes a path that it has seen for the
// library that it has loaded, and descriptor numbers come again. Each bit of a count becomes one of two
// spellings of "this folder".
std::string UniquePath(int fd) {
  static std::atomic<uint32_t> count{0};
  std::string path = "/proc/self/fd/";
  for (uint32_t bits = count.fetch_add(1) + 1; bits != 0; bits >>= 1) path += (bits & 1) ? "./" : ".//";
  return path + std::to_string(fd);
}

}  // namespace

Expected<std::unique_ptr<LoadedKernels>> LoadedKernels::Load(std::span<const std::byte> object) {
  TVMVM_CHECK_OK(CheckKernelObject(object));
  FileDescriptor file(memfd_create("tvm-vm-kernels", MFD_CLOEXEC));
  if (file.get() < 0) return SystemRefuses("cannot make a memory file", std::strerror(errno));
  TVMVM_CHECK_OK(WriteAll(file.get(), object));
  void* handle = dlopen(UniquePath(file.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return SystemRefuses("cannot load", reason != nullptr ? reason : "unknown reason");
  }
  return std::unique_ptr<LoadedKernels>(new LoadedKernels(handle));
}

LoadedKernels::~LoadedKernels() { dlclose(handle_); }

KernelFunction LoadedKernels::Find(const std::string& symbol) const {
  return reinterpret_cast<KernelFunction>(dlsym(handle_, symbol.c_str()));
}

}  // namespace tvmvm
