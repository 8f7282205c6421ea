#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "tvm-vm/cpu_device.h"

namespace tvmvm {
namespace {

// The beginning of a small file, or "" where it cannot be read.
std::string ReadSmallFile(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "re"), &fclose);
  if (!file) return {};
  char text[8192];
  size_t size = fread(text, 1, sizeof text, file.get());
  return std::string(text, size);
}

int CpusOfAffinityMask() {
  // Machines with more CPUs than cpu_set_t holds need a larger mask: the call says so with EINVAL.
  for (int cpus = 1024; cpus <= 1 << 18; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    size_t bytes = CPU_ALLOC_SIZE(cpus);
    int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
}

// CPUs for a quota of `quota` microseconds in each `period`; 0: no limit.
int CpusOfQuota(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::max(1LL, (quota + period - 1) / period));
}

int Tighter(int a, int b) {
  if (a == 0) return b;
  if (b == 0) return a;
  return std::min(a, b);
}

// The tightest of the quotas of `group` and the groups that hold it, below `root`.
template <class Quota>
int TightestQuota(const std::string& root, std::string group, Quota quota_of) {
  int cpus = 0;
  while (true) {
    cpus = Tighter(cpus, quota_of(root + group));
    size_t slash = group.rfind('/');
    if (group.empty() || slash == std::string::npos) return cpus;
    group.resize(slash);
  }
}

int QuotaV2(const std::string& folder) {
  std::string text = ReadSmallFile(folder + "/cpu.max");  // "max 100000" or "150000 100000"
  long long quota = 0, period = 0;
  if (sscanf(text.c_str(), "%lld %lld", &quota, &period) != 2) return 0;
  return CpusOfQuota(quota, period);
}

int QuotaV1(const std::string& folder) {
  std::string quota = ReadSmallFile(folder + "/cpu.cfs_quota_us");
  std::string period = ReadSmallFile(folder + "/cpu.cfs_period_us");
  return CpusOfQuota(atoll(quota.c_str()), atoll(period.c_str()));
}

// The path of this process's group in a line of /proc/self/cgroup ("0::/a/b", "4:cpu,cpuacct:/a/b"), or "".
std::string GroupOf(const std::string& groups, bool v2) {
  size_t begin = 0;
  while (begin < groups.size()) {
    size_t end = std::min(groups.find('\n', begin), groups.size());
    std::string line = groups.substr(begin, end - begin);
    begin = end + 1;
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first, second - first) + ':';  // ":cpu,cpuacct:"
    std::replace(controllers.begin(), controllers.end(), ',', ':');
    bool wanted = v2 ? controllers == "::" : controllers.find(":cpu:") != std::string::npos;
    if (wanted) return line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
  }
  return {};
}

int CpusOfControlGroups() {
  const std::string groups = ReadSmallFile("/proc/self/cgroup");
  const std::string v2 = GroupOf(groups, true), v1 = GroupOf(groups, false);
  int cpus = TightestQuota("/sys/fs/cgroup", v2, QuotaV2);
  cpus = Tighter(cpus, TightestQuota("/sys/fs/cgroup/unified", v2, QuotaV2));
  cpus = Tighter(cpus, TightestQuota("/sys/fs/cgroup/cpu", v1, QuotaV1));
  return Tighter(cpus, TightestQuota("/sys/fs/cgroup/cpu,cpuacct", v1, QuotaV1));
}

}  // namespace

int AvailableCpus() {
  int cpus = CpusOfAffinityMask();
  int quota = CpusOfControlGroups();
  return std::max(1, Tighter(cpus, quota));
}

}  // namespace tvmvm
