#include "vm/sandbox/runner/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "vm/sandbox/protocol.h"

namespace tvmvm::sandbox {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the filter knows x86-64 and AArch64"
#endif

// Whatever the arguments are. The most frequent ones first.
constexpr uint32_t kAllowed[] = {
    SYS_futex,
    SYS_sched_yield,
    SYS_clock_gettime,
    SYS_munmap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_mremap,
    SYS_read,
    SYS_pread64,
    SYS_lseek,
    SYS_fstat,
    SYS_close,
    SYS_dup,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_restart_syscall,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_exit,
    SYS_exit_group,
    SYS_gettid,
    SYS_getpid,
    SYS_getcpu,
    SYS_sched_getaffinity,
    SYS_getrandom,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_ppoll,
};

// The lower half of an argument: descriptors and flags have no more.
constexpr uint32_t Argument(int number) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  return static_cast<uint32_t>(offsetof(seccomp_data, args)) + 8 * static_cast<uint32_t>(number);
}

class FilterBuilder {
 public:
  void Load(uint32_t offset) { Add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void And(uint32_t mask) { Add(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask)); }
  void Return(uint32_t action) { Add(BPF_STMT(BPF_RET | BPF_K, action)); }
  // Goes on where the value is as given, else that many instructions further.
  void Equal(uint32_t value, uint8_t otherwise) {
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, otherwise));
  }
  void Unequal(uint32_t value, uint8_t otherwise) {
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, otherwise, 0));
  }
  void Allow(uint32_t call) {
    Equal(call, 1);
    Return(SECCOMP_RET_ALLOW);
  }
  // Only where an argument has this value. Ends the program for this call.
  void AllowWhere(uint32_t call, int argument, uint32_t value) {
    Equal(call, 4);
    Load(Argument(argument));
    Equal(value, 1);
    Return(SECCOMP_RET_ALLOW);
    Return(SECCOMP_RET_TRAP);
  }
  std::vector<sock_filter> Take() { return std::move(filter_); }

 private:
  void Add(sock_filter instruction) { filter_.push_back(instruction); }
  std::vector<sock_filter> filter_;
};

// Private memory, and the shared file. Shared memory without a file and stacks that grow by themselves are in
// no account of the system's.
void AddMmap(FilterBuilder* filter) {
  constexpr int kFlags = 3, kFile = 4;
  filter->Equal(SYS_mmap, 11);
  filter->Load(Argument(kFlags));
  filter->And(MAP_TYPE | MAP_GROWSDOWN);
  filter->Equal(MAP_PRIVATE, 1);
  filter->Return(SECCOMP_RET_ALLOW);
  filter->Load(Argument(kFlags));
  filter->And(MAP_TYPE | MAP_ANONYMOUS | MAP_GROWSDOWN);
  filter->Equal(MAP_SHARED, 3);
  filter->Load(Argument(kFile));
  filter->Equal(kSharedFile, 1);
  filter->Return(SECCOMP_RET_ALLOW);
  filter->Return(SECCOMP_RET_TRAP);
}

}  // namespace

std::vector<sock_filter> SystemCallFilter(int process) {
  FilterBuilder filter;
  // Numbers mean something else under other architectures; those of x32 are above all of kAllowed.
  filter.Load(offsetof(seccomp_data, arch));
  filter.Unequal(kArchitecture, 1);
  filter.Return(SECCOMP_RET_KILL_PROCESS);
  filter.Load(offsetof(seccomp_data, nr));
  filter.AllowWhere(SYS_recvfrom, 0, kSocket);
  filter.AllowWhere(SYS_sendto, 0, kSocket);
  for (const uint32_t call : kAllowed) filter.Allow(call);
  AddMmap(&filter);
  filter.AllowWhere(SYS_write, 0, kKernelFile);
  filter.AllowWhere(SYS_tgkill, 0, static_cast<uint32_t>(process));  // abort()
  filter.Return(SECCOMP_RET_TRAP);
  return filter.Take();
}

bool InstallFilter(const std::vector<sock_filter>& filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace tvmvm::sandbox
