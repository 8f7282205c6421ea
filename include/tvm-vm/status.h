// Errors as values. No exception crosses a public boundary; every fallible call returns Expected<T> or
// Status.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "tvm-vm/export.h"

namespace tvmvm {

enum class Code : uint8_t {
  kInvalidArgument = 1,   // the caller's input is wrong: shape, dtype, option, model
  kInvalidProgram = 2,    // a program or file is malformed or was refused by the verifier
  kNotFound = 3,          // a file, name or device does not exist
  kUnsupported = 4,       // well formed, but not something this build can do
  kOutOfMemory = 5,       // an allocation failed or a budget would be exceeded
  kDeadlineExceeded = 6,  // a limit on time or steps was reached
  kCancelled = 7,         // another thread asked to stop
  kDeviceLost = 8,        // the device is gone; other devices go on
  kInternal = 9,          // a defect of this software
  kIo = 10,  // the system cannot read or write a file: no room, no right, a folder, a closed pipe
};

// "invalid_argument", "out_of_memory", ...
TVMVM_EXPORT const char* CodeName(Code code);

// What was found, what was wanted and where.
struct Error {
  Code code = Code::kInternal;
  std::string message;
};

template <class T>
using Expected = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> MakeError(Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace tvmvm

#define TVMVM_CONCAT_INNER(a, b) a##b
#define TVMVM_CONCAT(a, b) TVMVM_CONCAT_INNER(a, b)

// TVMVM_TRY(auto x, Make());  binds the value or returns the error to the caller.
#define TVMVM_TRY(declaration, ...) \
  TVMVM_TRY_INNER(TVMVM_CONCAT(tvmvm_try_, __LINE__), declaration, __VA_ARGS__)
#define TVMVM_TRY_INNER(temporary, declaration, ...)                                     \
  auto temporary = (__VA_ARGS__);                                                        \
  if (!temporary) return ::tl::unexpected<::tvmvm::Error>(std::move(temporary).error()); \
  declaration = std::move(*temporary)

// TVMVM_CHECK_OK(Do());  returns the error to the caller, or goes on.
#define TVMVM_CHECK_OK(...)                                                     \
  do {                                                                          \
    if (auto tvmvm_status = (__VA_ARGS__); !tvmvm_status)                       \
      return ::tl::unexpected<::tvmvm::Error>(std::move(tvmvm_status).error()); \
  } while (false)
