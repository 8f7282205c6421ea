#include <re2/re2.h>

#include <cstdio>
#include <exception>

#include "tvm-vm/version.h"
#include "vm/regex/regex_library.h"

void* tvmvm_regex_compile(const char* pattern, size_t size, char* error, size_t error_size) {
  try {
    RE2::Options options;
    options.set_log_errors(false);
    auto* regex = new RE2(re2::StringPiece(pattern, size), options);
    if (regex->ok()) return regex;
    std::snprintf(error, error_size, "%s", regex->error().c_str());
    delete regex;
  } catch (const std::exception& exception) {
    std::snprintf(error, error_size, "%s", exception.what());
  }
  return nullptr;
}

int tvmvm_regex_full_match(const void* regex, const char* text, size_t size) {
  try {
    return RE2::FullMatch(re2::StringPiece(text, size), *static_cast<const RE2*>(regex)) ? 1 : 0;
  } catch (const std::exception&) {
    return -1;
  }
}

uint32_t tvmvm_regex_version() { return TVMVM_VERSION; }

void tvmvm_regex_free(void* regex) { delete static_cast<RE2*>(regex); }
