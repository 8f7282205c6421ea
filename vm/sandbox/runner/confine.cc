#include "vm/sandbox/runner/confine.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process/own_limits.h"
#include "vm/sandbox/protocol.h"
#include "vm/sandbox/runner/filter.h"
#include "vm/sandbox/runner/refused_calls.h"

namespace tvmvm::sandbox {
namespace {

// What the process takes beside what its Invocation holds: the loaded program, pages of allocators, stacks.
constexpr uint64_t kSlack = uint64_t{64} << 20, kSlackOfWorker = uint64_t{32} << 20;
// Addresses that are only reserved.
constexpr uint64_t kReserved = uint64_t{2} << 30, kReservedOfWorker = uint64_t{128} << 20;

}  // namespace

void LeaveNamespaces() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0)
    unshare(CLONE_NEWNET | CLONE_NEWIPC);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

bool Confine(const Confinement& confinement) {
  const OwnMemory used = OwnMemoryNow();
  LimitOwn(RLIMIT_CORE, 0);
  LimitOwn(RLIMIT_NOFILE, kKernelFile + 4);
  LimitOwn(RLIMIT_FSIZE, confinement.program_bytes);
  LimitOwn(RLIMIT_MEMLOCK, 0);
  if (confinement.max_bytes > 0) {
    const auto bytes = static_cast<uint64_t>(confinement.max_bytes);
    const auto workers = static_cast<uint64_t>(confinement.workers);
    LimitOwn(RLIMIT_DATA, used.data + bytes + kSlack + workers * kSlackOfWorker);
    // The memory of the run; that of inputs and outputs, which is mapped twice while it grows.
    LimitOwn(RLIMIT_AS, used.addresses + 5 * bytes + kReserved + workers * kReservedOfWorker);
  }
  HandleRefusedCalls();
  return InstallFilter(SystemCallFilter(getpid()));
}

}  // namespace tvmvm::sandbox
