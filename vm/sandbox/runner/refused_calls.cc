#include "vm/sandbox/runner/refused_calls.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "vm/sandbox/protocol.h"

namespace tvmvm::sandbox {
namespace {

// The registers of a system call.
struct CallRegisters {
  explicit CallRegisters(void* context) : machine(static_cast<ucontext_t*>(context)->uc_mcontext) {}
#if defined(__x86_64__)
  uint64_t argument(int number) const {
    constexpr int kRegisters[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
    return static_cast<uint64_t>(machine.gregs[kRegisters[number]]);
  }
  void SetResult(int64_t result) { machine.gregs[REG_RAX] = result; }
#else
  uint64_t argument(int number) const { return machine.regs[number]; }
  void SetResult(int64_t result) { machine.regs[0] = static_cast<uint64_t>(result); }
#endif
  mcontext_t& machine;
};

// As system calls answer.
int64_t Answer(int64_t result) { return result < 0 ? -errno : result; }

// N of "/proc/self/fd/N", with "./" and "/" between as often as one likes; -1: it is another path.
int DescriptorOf(const char* path) {
  constexpr char kFolder[] = "/proc/self/fd/";
  if (std::strncmp(path, kFolder, sizeof kFolder - 1) != 0) return -1;
  path += sizeof kFolder - 1;
  while (*path == '/' || (path[0] == '.' && path[1] == '/')) ++path;
  int number = -1;
  for (; *path >= '0' && *path <= '9' && number < 100'000; ++path)
    number = (number < 0 ? 0 : number) * 10 + *path - '0';
  return *path == '\0' ? number : -1;
}

// Whether the call was answered.
bool Emulate(int64_t call, CallRegisters registers) {
  static volatile sig_atomic_t kernel_file_is_given = 0;
  if (call == SYS_memfd_create) {
    registers.SetResult(kernel_file_is_given != 0 ? -EMFILE : kKernelFile);
    kernel_file_is_given = 1;
    return true;
  }
  if (call == SYS_openat) {
    const int descriptor = DescriptorOf(reinterpret_cast<const char*>(registers.argument(1)));
    if (descriptor < 0) return false;
    const int copy = dup(descriptor);  // which shares its position with what it is a copy of
    const int64_t answer = Answer(copy);
    if (copy >= 0) lseek(copy, 0, SEEK_SET);
    registers.SetResult(answer);
    return true;
  }
  if (call == SYS_newfstatat) {
    const bool is_open_file = (registers.argument(3) & AT_EMPTY_PATH) != 0 &&
                              *reinterpret_cast<const char*>(registers.argument(1)) == '\0';
    if (!is_open_file) return false;
    registers.SetResult(
        Answer(syscall(SYS_fstat, static_cast<int>(registers.argument(0)), registers.argument(2))));
    return true;
  }
  return false;
}

void OnRefusedCall(int, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (!Emulate(info->si_syscall, CallRegisters(context))) {
    const Message message{.kind = MessageKind::kRefusedCall, .number = info->si_syscall};
    send(kSocket, &message, sizeof message, MSG_NOSIGNAL);
    syscall(SYS_exit_group, 128 + SIGSYS);
  }
  errno = saved_errno;
}

}  // namespace

void HandleRefusedCalls() {
  struct sigaction action = {};
  action.sa_sigaction = OnRefusedCall;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
}

}  // namespace tvmvm::sandbox
