// How often this test program has allocated through the language's operator new, the library included.
#pragma once

#include <cstdint>

namespace tvmvm::testing {

int64_t AllocationCount();

}  // namespace tvmvm::testing
