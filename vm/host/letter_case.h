// Capital and small letters of UTF-8 texts, letter by letter; what a language does beyond that is left alone.
#pragma once

#include <string>

namespace tvmvm {

enum class LetterCase { kLower, kUpper };

// `text` in that case. Bytes that are no UTF-8 stay as they are.
std::string InCase(const std::string& text, LetterCase wanted);

}  // namespace tvmvm
