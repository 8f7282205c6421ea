// Capital and small letters of UTF-8 texts, letter by letter; what a language does beyond that is left alone.
#pragma once

#include <string>

namespace tvmvm {

enum class LetterCase { kLower, kUpper };

// Puts a part of `text` that begins at `*at` behind `to`, in that case, and moves `*at` behind it. Bytes that
// are no UTF-8 stay as they are.
void AppendInCase(const std::string& text, LetterCase wanted, size_t* at, std::string* to);

}  // namespace tvmvm
