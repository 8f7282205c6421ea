#include "process/own_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace tvmvm {

void LimitOwn(int resource, uint64_t value) {
  const rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

OwnMemory OwnMemoryNow() {
  OwnMemory memory;
  FILE* file = fopen("/proc/self/statm", "re");
  if (file == nullptr) return memory;
  unsigned long pages[6] = {};
  if (fscanf(file, "%lu %lu %lu %lu %lu %lu", &pages[0], &pages[1], &pages[2], &pages[3], &pages[4],
             &pages[5]) == 6) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    memory = {pages[0] * page, pages[5] * page};
  }
  fclose(file);
  return memory;
}

}  // namespace tvmvm
