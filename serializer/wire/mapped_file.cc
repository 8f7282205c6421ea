#include "serializer/wire/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "bytecode/file_descriptor.h"
#include "bytecode/format_text.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::wire {
namespace {

tl::unexpected<Error> SystemError(const std::string& path, const char* what, int error) {
  return MakeError(CodeOfSystemError(error), FormatText("{}: {}: {}", path, what, std::strerror(error)));
}

// A mapped file. The list of all of them is read by a signal's handler: places in it are never given back,
// but used again.
struct Mapping {
  std::atomic<uintptr_t> begin{0}, end{0};  // 0, 0: free
  std::atomic<bool> is_taken{false}, is_cut{false};
  Mapping* next = nullptr;
};
constinit std::atomic<Mapping*> mappings{nullptr};
uintptr_t page_bytes = 0;  // before anyone is told of bus errors

Mapping* TakePlace() {
  for (Mapping* place = mappings; place != nullptr; place = place->next)
    if (!place->is_taken.exchange(true)) return place;
  auto* place = new Mapping;
  place->is_taken = true;
  place->next = mappings;
  while (!mappings.compare_exchange_weak(place->next, place)) {
  }
  return place;
}

void GiveBack(Mapping* mapping) {
  const uintptr_t begin = mapping->begin;
  mapping->begin = 0;
  ::munmap(reinterpret_cast<void*>(begin), mapping->end - begin);
  mapping->end = 0;
  mapping->is_cut = false;
  mapping->is_taken = false;
}

// What is behind the end of a file that was cut: zeros, from here on.
bool PutZerosAt(uintptr_t address) {
  for (Mapping* mapping = mappings; mapping != nullptr; mapping = mapping->next) {
    const uintptr_t begin = mapping->begin, end = mapping->end;
    if (begin == 0 || address < begin || address >= end) continue;
    const uintptr_t page = address & ~(page_bytes - 1);
    mapping->is_cut = true;
    return ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  }
  return false;
}

struct sigaction before {};  // what handled SIGBUS

extern "C" void HandleBusError(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool is_ours = PutZerosAt(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = error;
  if (is_ours) return;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  ::sigaction(signal, &before, nullptr);  // the access is made again, and ends the process
}

Expected<Blob> MapOpenFile(const std::string& path, int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return SystemError(path, "cannot read its size", errno);
  if (!S_ISREG(info.st_mode))
    return MakeError(Code::kInvalidArgument, FormatText("{}: no regular file", path));
  if (info.st_size == 0) return MakeError(Code::kInvalidProgram, FormatText("{}: the file is empty", path));
  auto size = static_cast<size_t>(info.st_size);
  Mapping* mapping = TakePlace();
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) {
    mapping->is_taken = false;
    return SystemError(path, "cannot map the file", errno);
  }
  mapping->end = reinterpret_cast<uintptr_t>(memory) + size;
  mapping->begin = reinterpret_cast<uintptr_t>(memory);
  std::shared_ptr<const void> owner(memory, [mapping](const void*) { GiveBack(mapping); });
  return Blob{{static_cast<const std::byte*>(memory), size}, std::move(owner), &mapping->is_cut};
}

}  // namespace

Expected<Blob> MapFile(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return SystemError(path, "cannot open the file", errno);
  return MapOpenFile(path, file.get());
}

}  // namespace tvmvm::wire

namespace tvmvm {

Status CatchCutFiles() {
  static constinit std::mutex mutex;
  static bool is_caught = false;
  std::lock_guard lock(mutex);
  if (is_caught) return {};
  struct sigaction action {};
  action.sa_sigaction = wire::HandleBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  wire::page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  if (::sigaction(SIGBUS, nullptr, &wire::before) != 0 || ::sigaction(SIGBUS, &action, nullptr) != 0)
    return MakeError(Code::kUnsupported, "SIGBUS cannot be handled");
  is_caught = true;
  return {};
}

}  // namespace tvmvm
