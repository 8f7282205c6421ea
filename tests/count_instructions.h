// Counts what a program executes: the same on every machine, unlike its time. Of release builds; valgrind
// counts.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace tvmvm {

// What keeps instructions of this build from being compared with anything; empty if nothing does.
inline std::string WhyNotCounted() {
#ifndef NDEBUG
  return "a build without optimisation";
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
  return "a build with sanitizers, or of another architecture";
#else
  return "";
#endif
}

// Instructions of the whole process that `command` (of a shell: a program and its arguments) starts; nullopt
// where there is no valgrind or the program fails.
inline std::optional<int64_t> CountInstructions(const std::string& command) {
  FILE* pipe = popen(
      fmt::format("valgrind --tool=callgrind --callgrind-out-file=/dev/null {} 2>&1", command).c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  char buffer[256];
  while (fgets(buffer, sizeof(buffer), pipe) != nullptr) text += buffer;
  if (pclose(pipe) != 0) return std::nullopt;
  const size_t at = text.find("Collected : ");
  if (at == std::string::npos) return std::nullopt;
  return std::strtoll(text.c_str() + at + 12, nullptr, 10);
}

}  // namespace tvmvm
