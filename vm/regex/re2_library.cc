#include <execinfo.h>
#include <re2/re2.h>

#include <cstdio>
#include <exception>

#include "tvm-vm/version.h"
#include "vm/regex/regex_library.h"

namespace {

// Where RE2 throws for lack of memory within std::call_once, the C library opens the library of unwinding,
// once for the process, and ends it where there is no memory for that. This opens it before.
[[maybe_unused]] const int kUnwinds = [] {
  void* caller = nullptr;
  return backtrace(&caller, 1);
}();

}  // namespace

void* tvmvm_regex_compile(const char* pattern, size_t size, char* error, size_t error_size) {
  try {
    RE2::Options options;
    options.set_log_errors(false);
    auto* regex = new RE2(re2::StringPiece(pattern, size), options);
    if (regex->ok()) return regex;
    std::snprintf(error, error_size, "%s", regex->error().c_str());
    delete regex;
  } catch (const std::exception&) {
    *error = '\0';
  }
  return nullptr;
}

int tvmvm_regex_size(const void* regex) { return static_cast<const RE2*>(regex)->ProgramSize(); }

int tvmvm_regex_full_match(const void* regex, const char* text, size_t size) {
  try {
    return RE2::FullMatch(re2::StringPiece(text, size), *static_cast<const RE2*>(regex)) ? 1 : 0;
  } catch (const std::exception&) {
    return -1;
  }
}

uint32_t tvmvm_regex_version() { return TVMVM_VERSION; }

void tvmvm_regex_free(void* regex) { delete static_cast<RE2*>(regex); }
