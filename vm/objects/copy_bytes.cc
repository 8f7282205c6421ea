#include "vm/objects/copy_bytes.h"

#include <algorithm>
#include <cstring>

namespace tvmvm {
namespace {

constexpr int64_t kPart =
    int64_t{1} << 20;  // less than a millisecond where pages are touched for the first time

}  // namespace

bool CopyBytes(const CancelToken& cancel, char* to, const char* from, int64_t bytes) {
  // What lies behind its source is copied from the end, so that no part is overwritten before its turn.
  const bool backwards = to > from && to - from < bytes;
  for (int64_t done = 0; done < bytes;) {
    if (done > 0 && cancel.cancelled()) return false;
    const int64_t part = std::min(kPart, bytes - done);
    const int64_t at = backwards ? bytes - done - part : done;
    std::memmove(to + at, from + at, static_cast<size_t>(part));
    done += part;
  }
  return true;
}

bool FillBytes(const CancelToken& cancel, char* to, int value, int64_t bytes) {
  for (int64_t done = 0; done < bytes; done += kPart) {
    if (done > 0 && cancel.cancelled()) return false;
    std::memset(to + done, value, static_cast<size_t>(std::min(kPart, bytes - done)));
  }
  return true;
}

}  // namespace tvmvm
