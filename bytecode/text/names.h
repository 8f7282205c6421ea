// Spellings of the program's small enumerations in text.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "tvm-vm/program.h"

namespace tvmvm::text {

inline constexpr std::array<std::string_view, 4> kAccessNames = {"read", "write", "readwrite",
                                                                 "read_aligned"};
inline constexpr std::array<std::string_view, 4> kValueKindNames = {"tensor", "sequence", "optional",
                                                                    "tuple"};

template <class Enum, size_t N>
std::string_view NameIn(const std::array<std::string_view, N>& names, Enum value) {
  return static_cast<size_t>(value) < N ? names[static_cast<size_t>(value)] : "unknown";
}

template <class Enum, size_t N>
std::optional<Enum> FromName(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace tvmvm::text
