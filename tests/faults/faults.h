// Failures on demand: what this test program asks of the host's memory and of the system, the library
// included, passes here.
#pragma once

#include <cstdint>
#include <ostream>

namespace tvmvm::testing {

enum FaultKind : uint32_t {
  kMalloc = 1,    // malloc and all that is like it, the C library's own calls included; operator new alone
                  // where a sanitizer brings its own malloc
  kHostHeap = 2,  // mimalloc, as the allocator opens it
  kMap = 4,       // mmap of files, and memory files
  kWrites = 8,    // write, pwrite
  kFiles = 16,    // these, open, fsync, linkat, rename
};
// Whether this build can make calls of these kinds fail.
bool CanFail(uint32_t kinds);

enum class Then { kOnce, kOnwards };  // whether only that call fails, or all that follow as well

// While it lives, call number `number` (from 0 on) of the chosen kinds on this thread fails; `error` is what
// the system says.
class Failing {
 public:
  Failing(uint32_t kinds, int64_t number, Then then, int error);
  ~Failing();
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  bool has_failed() const;
};

// What the process holds.
struct Held {
  int64_t blocks = 0;       // of malloc
  int64_t heap_blocks = 0;  // of mimalloc
  int64_t mappings = 0;     // of files
  int64_t files = 0;        // that are open
  friend bool operator==(const Held&, const Held&) = default;
};
std::ostream& operator<<(std::ostream& out, const Held& held);
Held HeldNow();

}  // namespace tvmvm::testing
