#include "bytecode/steady_time.h"

#include <algorithm>
#include <chrono>

namespace tvmvm {

int64_t SteadyNanoseconds() {
  using std::chrono::steady_clock;
  return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

std::string TimeText(int64_t nanoseconds) {
  constexpr int64_t kMicrosecond = 1000;
  if (nanoseconds >= kMicrosecond) return std::to_string(nanoseconds / kMicrosecond) + " microseconds";
  return std::to_string(std::max<int64_t>(nanoseconds, 0)) + " nanoseconds";
}

}  // namespace tvmvm
