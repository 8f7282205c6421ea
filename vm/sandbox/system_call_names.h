#pragma once

#include <cstdint>
#include <string>

namespace tvmvm::sandbox {

// "'execve'", or "number 4711" of those that nobody asks for.
std::string SystemCallName(int64_t number);

}  // namespace tvmvm::sandbox
