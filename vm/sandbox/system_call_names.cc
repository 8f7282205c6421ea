#include "vm/sandbox/system_call_names.h"

#include <sys/syscall.h>

#include <algorithm>
#include <iterator>

namespace tvmvm::sandbox {
namespace {

struct Row {
  int64_t number;
  const char* name;
};

#define CALL(name) \
  { SYS_##name, #name }
// What programs want that want more than to compute.
constexpr Row kRows[] = {
    CALL(execve),
    CALL(execveat),
    CALL(clone),
    CALL(clone3),
    CALL(openat),
    CALL(openat2),
    CALL(socket),
    CALL(socketpair),
    CALL(connect),
    CALL(bind),
    CALL(listen),
    CALL(accept),
    CALL(accept4),
    CALL(sendto),
    CALL(sendmsg),
    CALL(recvmsg),
    CALL(kill),
    CALL(tkill),
    CALL(tgkill),
    CALL(ptrace),
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(pidfd_open),
    CALL(pidfd_getfd),
    CALL(memfd_create),
    CALL(io_uring_setup),
    CALL(bpf),
    CALL(perf_event_open),
    CALL(userfaultfd),
    CALL(mount),
    CALL(unshare),
    CALL(setns),
    CALL(chroot),
    CALL(chdir),
    CALL(unlinkat),
    CALL(renameat2),
    CALL(mkdirat),
    CALL(linkat),
    CALL(symlinkat),
    CALL(fchmod),
    CALL(fchmodat),
    CALL(truncate),
    CALL(ftruncate),
    CALL(fallocate),
    CALL(write),
    CALL(writev),
    CALL(pwrite64),
    CALL(readlinkat),
    CALL(faccessat),
    CALL(statx),
    CALL(newfstatat),
    CALL(getdents64),
    CALL(ioctl),
    CALL(fcntl),
    CALL(dup3),
    CALL(pipe2),
    CALL(eventfd2),
    CALL(setrlimit),
    CALL(prlimit64),
    CALL(prctl),
    CALL(seccomp),
    CALL(setuid),
    CALL(setgid),
    CALL(setpriority),
    CALL(sched_setaffinity),
    CALL(sched_setscheduler),
    CALL(rt_sigaction),
    CALL(setitimer),
    CALL(timer_create),
    CALL(shmget),
    CALL(msgget),
    CALL(semget),
    CALL(mmap),
    CALL(mlock),
    CALL(mlockall),
    CALL(personality),
    CALL(uname),
    CALL(sysinfo),
    CALL(getcwd),
#ifdef SYS_open
    CALL(open),
    CALL(creat),
    CALL(fork),
    CALL(vfork),
    CALL(stat),
    CALL(lstat),
    CALL(access),
    CALL(unlink),
    CALL(rename),
    CALL(mkdir),
    CALL(readlink),
    CALL(link),
    CALL(symlink),
    CALL(chmod),
    CALL(pipe),
    CALL(dup2),
#endif
};
#undef CALL

}  // namespace

std::string SystemCallName(int64_t number) {
  const auto* row = std::ranges::find(kRows, number, &Row::number);
  if (row == std::end(kRows)) return "number " + std::to_string(number);
  return "'" + std::string(row->name) + "'";
}

}  // namespace tvmvm::sandbox
