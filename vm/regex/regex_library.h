/* The regular expressions' own library, libtvm-vm-regex: RE2 behind a few C functions. The runtime opens it
 * when a program first matches a pattern, so that whoever never does needs neither it nor RE2. No exception
 * passes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tvm-vm/export.h"

extern "C" {

/* TVMVM_VERSION of the library. */
TVMVM_EXPORT uint32_t tvmvm_regex_version();

/* Null when the pattern is wrong: `error` then holds why, cut to `error_size` - 1 characters; nothing where
 * there is no memory. */
TVMVM_EXPORT void* tvmvm_regex_compile(const char* pattern, size_t size, char* error, size_t error_size);
/* How many instructions the pattern's program has: no byte of a text takes more than so many steps. */
TVMVM_EXPORT int tvmvm_regex_size(const void* regex);
/* 1 when the pattern matches all of the text, 0 when not, -1 when there is no memory. Thread-safe. */
TVMVM_EXPORT int tvmvm_regex_full_match(const void* regex, const char* text, size_t size);
TVMVM_EXPORT void tvmvm_regex_free(void* regex);
}
