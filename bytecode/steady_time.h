// The steady clock as a number, which is how deadlines are handed on.
#pragma once

#include <cstdint>
#include <string>

namespace tvmvm {

// Nanoseconds since the steady clock's beginning.
int64_t SteadyNanoseconds();

// "800 nanoseconds", "1200 microseconds": for messages. What is negative is none.
[[gnu::cold]] std::string TimeText(int64_t nanoseconds);

}  // namespace tvmvm
