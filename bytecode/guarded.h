// Where exceptions end: the public functions, and calls that are given memory or work which only their caller
// can give back. Behind them errors are values.
#pragma once

#include "tvm-vm/status.h"

namespace tvmvm {

// For a handler: what the exception in flight is as an error. kOutOfMemory where memory is short or a size is
// beyond what can be had, else kInternal, a defect of ours. Allocates nothing where there is nothing.
[[gnu::cold]] Error CaughtError() noexcept;

// What `body` gives, an Expected or a Status; no exception passes.
template <class Body>
auto Guarded(const Body& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return tl::unexpected<Error>(CaughtError());
  }
}

}  // namespace tvmvm
