// How often tests try that attack at random.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tests/sanitizer.h"

namespace tvmvm {

// `usual`, or `sanitized` where a sanitizer makes each try several times slower; the environment variable
// TVMVM_TRIES says how many times as many (docs/fuzzing.md).
inline uint32_t Tries(uint32_t usual, uint32_t sanitized) {
  const char* times = std::getenv("TVMVM_TRIES");
  const long factor = times == nullptr ? 1 : std::strtol(times, nullptr, 10);
  return (kSanitized ? sanitized : usual) * static_cast<uint32_t>(factor < 1 ? 1 : factor);
}
inline uint32_t Tries(uint32_t always) { return Tries(always, always); }

}  // namespace tvmvm
