// Whether this build has a sanitizer that makes everything several times slower, and what is a hang in it.
#pragma once

#include <chrono>

namespace tvmvm {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TVMVM_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TVMVM_SANITIZED
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TVMVM_FINDS_LEAKS
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define TVMVM_FINDS_LEAKS
#endif
#ifdef TVMVM_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

#ifdef TVMVM_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// What this thread allocates while one lives is not looked for among leaks: for what others wrote.
struct IgnoredLeaks {
#ifdef TVMVM_FINDS_LEAKS
  __lsan::ScopedDisabler disabler;
#endif
};

// Work of milliseconds that takes as long grows with the square of something, whatever the build and the
// machine.
inline constexpr std::chrono::seconds kHang(30);

}  // namespace tvmvm
