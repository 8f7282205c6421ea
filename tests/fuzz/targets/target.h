// A fuzz target is one function that takes any bytes. What must hold for all of them is asserted in it; a
// breach ends the process, as sanitizers do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "tvm-vm/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tvmvm::fuzz {

inline std::span<const std::byte> BytesOf(const uint8_t* data, size_t size) {
  return std::as_bytes(std::span(data, size));
}

inline void Require(bool holds, const char* what, const char* detail = "") {
  if (holds) return;
  std::fprintf(stderr, "broken: %s %s\n", what, detail);
  std::abort();
}

// An error that says something and is not a defect of the software.
inline void RequireProper(const Error& error) {
  Require(!error.message.empty(), "an error without a message");
  Require(error.code != Code::kInternal, "an internal error:", error.message.c_str());
}
template <class T>
void RequireProper(const Expected<T>& result) {
  if (!result) RequireProper(result.error());
}

}  // namespace tvmvm::fuzz
