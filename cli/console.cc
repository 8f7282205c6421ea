#include "cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tvmvm::cli {
namespace {

bool is_quiet = false, is_verbose = false;  // written once, while the command line is read

// What fails stays to be seen in the stream: FlushResults tells of it.
void WriteLine(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fputc('\n', stream);
}

}  // namespace

void PrintResult(std::string_view text) {
  WriteLine(stdout, text.ends_with('\n') ? text.substr(0, text.size() - 1) : text);
}

void PrintNote(std::string_view text) {
  if (!is_quiet) WriteLine(stderr, text);
}

void PrintDetail(std::string_view text) {
  if (is_verbose) WriteLine(stderr, text);
}

void PrintProblem(std::string_view text) { WriteLine(stderr, text); }

void SetQuiet() { is_quiet = true; }

void SetVerbose() { is_verbose = true; }

void PrintError(const Error& error) {
  WriteLine(stderr, fmt::format("tvm-vm: {} ({})", error.message, CodeName(error.code)));
}

Status FlushResults() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return MakeError(Code::kIo, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  return {};
}

std::string FormatCount(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string FormatBytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

ProgressLine::ProgressLine()
    : terminal_(isatty(STDERR_FILENO) != 0), begin_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Update(std::string_view stage, double fraction) {
  if (!terminal_ || std::chrono::steady_clock::now() - begin_ < std::chrono::seconds(1)) return;
  constexpr int kWidth = 24;
  fraction = std::clamp(fraction, 0.0, 1.0);
  int filled = static_cast<int>(fraction * kWidth);
  fmt::print(stderr, "\r\033[K[{}{}] {:3.0f} % {}", std::string(filled, '='),
             std::string(kWidth - filled, ' '), fraction * 100, stage);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace tvmvm::cli
