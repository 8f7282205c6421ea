#include "isolated_compiler/runner/confine.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "process/own_limits.h"

namespace tvmvm::isolated {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kMostNumber = 0x3fffffff;  // those of x32 are above
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kMostNumber = UINT32_MAX;
#else
#error "the filter knows x86-64 and AArch64"
#endif

constexpr uint32_t kRefused[] = {
    SYS_execve,
    SYS_execveat,
#if defined(__x86_64__)
    SYS_fork,
    SYS_vfork,
#endif
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_kcmp,
    SYS_socket,
    SYS_socketpair,
    SYS_io_uring_setup,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_chroot,
    SYS_pivot_root,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_kexec_load,
    SYS_reboot,
};

constexpr uint32_t kFirstArgument = offsetof(seccomp_data, args);  // its lower half
constexpr uint32_t kNotPermitted = SECCOMP_RET_ERRNO | EPERM;

void Append(std::vector<sock_filter>* filter, std::initializer_list<sock_filter> instructions) {
  filter->insert(filter->end(), instructions);
}

// A call that is let through where its first argument passes the test, which else skips an instruction.
void AppendChecked(std::vector<sock_filter>* filter, uint32_t call, sock_filter test) {
  Append(filter,
         {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFirstArgument),
          test, BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_K, kNotPermitted)});
}

std::vector<sock_filter> Filter() {
  std::vector<sock_filter> filter;
  Append(&filter,
         {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
          BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kMostNumber, 0, 1), BPF_STMT(BPF_RET | BPF_K, kNotPermitted)});
  for (const uint32_t call : kRefused)
    Append(&filter,
           {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, kNotPermitted)});
  // Threads alone are started: whoever asks by the call whose arguments lie in memory asks again by the
  // other.
  Append(&filter, {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)});
  AppendChecked(&filter, SYS_clone, BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
  // abort() sends itself a signal.
  const auto self = static_cast<uint32_t>(getpid());
  AppendChecked(&filter, SYS_tgkill, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1));
  Append(&filter, {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)});
  return filter;
}

}  // namespace

void GiveUpRights() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  LimitOwn(RLIMIT_CORE, 0);
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!write(file, "1000", 4);
  close(file);
}

void LimitMemory(int64_t max_bytes) {
  if (max_bytes <= 0) return;
  const auto bytes = static_cast<uint64_t>(max_bytes);
  LimitOwn(RLIMIT_DATA, OwnMemoryNow().data + bytes);
  LimitOwn(RLIMIT_FSIZE, bytes);
  signal(SIGXFSZ, SIG_IGN);  // writing is an error then
}

bool RefuseSystemCalls() {
  const std::vector<sock_filter> filter = Filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace tvmvm::isolated
