// What the tool says: results to standard output, everything meant for a person beside them to standard
// error.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "tvm-vm/status.h"

namespace tvmvm::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // the work could not be done, or a comparison did not hold
inline constexpr int kExitUsage = 2;   // the command line is wrong

// A result, to standard output; a newline is added where the text ends without one.
void PrintResult(std::string_view text);
// A remark for a person, to standard error; a newline is added.
void PrintNote(std::string_view text);
// A remark that only --verbose shows.
void PrintDetail(std::string_view text);
// What is wrong with a result, to standard error.
void PrintProblem(std::string_view text);
// From now on there are no remarks.
void SetQuiet();
// From now on there are details.
void SetVerbose();
// "tvm-vm: MESSAGE (code)" to standard error.
void PrintError(const Error& error);
// Pushes buffered results out. Errors: kIo when they cannot be written (a full disk, a closed
// pipe).
[[nodiscard]] Status FlushResults();

// "1 kernel", "2 kernels"
std::string FormatCount(size_t count, std::string_view what);
// "1.5 GB", "12.0 KB", "96 B"
std::string FormatBytes(double bytes);

// One line on a terminal that says how far a long job is; silent in its first second and where standard error
// is not a terminal. The line is wiped when the object goes.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  void Update(std::string_view stage, double fraction);
  void Clear();

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace tvmvm::cli
