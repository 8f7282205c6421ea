#include "vm/sandbox/runner/confine.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "vm/sandbox/protocol.h"
#include "vm/sandbox/runner/filter.h"
#include "vm/sandbox/runner/refused_calls.h"

namespace tvmvm::sandbox {
namespace {

// What the process takes beside what its Invocation holds: the loaded program, pages of allocators, stacks.
constexpr uint64_t kSlack = uint64_t{64} << 20, kSlackOfWorker = uint64_t{32} << 20;
// Addresses that are only reserved.
constexpr uint64_t kReserved = uint64_t{2} << 30, kReservedOfWorker = uint64_t{128} << 20;

void Limit(int what, uint64_t value) {
  const rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource>(what), &limit);
}

struct Used {
  uint64_t addresses = 0, data = 0;
};

Used UsedNow() {
  Used used;
  FILE* file = fopen("/proc/self/statm", "re");
  if (file == nullptr) return used;
  unsigned long pages[6] = {};
  if (fscanf(file, "%lu %lu %lu %lu %lu %lu", &pages[0], &pages[1], &pages[2], &pages[3], &pages[4],
             &pages[5]) == 6) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    used = {pages[0] * page, pages[5] * page};
  }
  fclose(file);
  return used;
}

}  // namespace

void LeaveNamespaces() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0)
    unshare(CLONE_NEWNET | CLONE_NEWIPC);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

bool Confine(const Confinement& confinement) {
  const Used used = UsedNow();
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_NOFILE, kKernelFile + 4);
  Limit(RLIMIT_FSIZE, confinement.program_bytes);
  Limit(RLIMIT_MEMLOCK, 0);
  if (confinement.max_bytes > 0) {
    const auto bytes = static_cast<uint64_t>(confinement.max_bytes);
    const auto workers = static_cast<uint64_t>(confinement.workers);
    Limit(RLIMIT_DATA, used.data + bytes + kSlack + workers * kSlackOfWorker);
    // The memory of the run; that of inputs and outputs, which is mapped twice while it grows.
    Limit(RLIMIT_AS, used.addresses + 5 * bytes + kReserved + workers * kReservedOfWorker);
  }
  HandleRefusedCalls();
  return InstallFilter(SystemCallFilter(getpid()));
}

}  // namespace tvmvm::sandbox
