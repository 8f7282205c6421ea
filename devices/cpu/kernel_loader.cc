#include "devices/cpu/kernel_loader.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "bytecode/file_descriptor.h"
#include "bytecode/open_library.h"
#include "devices/cpu/elf_check.h"

namespace tvmvm {
namespace {

tl::unexpected<Error> Refused(Code code, const char* what, const std::string& reason) {
  return MakeError(code == Code::kOutOfMemory ? code : Code::kUnsupported,
                   std::string("kernel library: ") + what + ": " + reason);
}

tl::unexpected<Error> SystemRefuses(const char* what, int error) {
  return Refused(CodeOfSystemError(error), what, std::strerror(error));
}

Status WriteAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return SystemRefuses("cannot write to memory file", written < 0 ? errno : ENOSPC);
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
  const FileDescriptor file(memfd_create("tvm-vm-kernels", MFD_CLOEXEC));
  if (file.get() < 0) return SystemRefuses("cannot make a memory file", errno);
  TVMVM_CHECK_OK(WriteAll(file.get(), object));
  std::unique_ptr<LoadedKernels> kernels(new LoadedKernels);
  Expected<void*> opened = OpenLibrary(UniquePath(file.get()).c_str());
  if (!opened) return Refused(opened.error().code, "cannot load", opened.error().message);
  kernels->handle_ = *opened;
  return kernels;
}

LoadedKernels::~LoadedKernels() {
  if (handle_ != nullptr) dlclose(handle_);
}

KernelFunction LoadedKernels::Find(const std::string& symbol) const {
  return reinterpret_cast<KernelFunction>(dlsym(handle_, symbol.c_str()));
}

}  // namespace tvmvm
