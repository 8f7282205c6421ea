// What the library and the compiling process tell each other: one request, in a memory file, and answers
// through a pipe, each as protobuf's messages behind its length. Both are of one version, which is checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tvm-vm/compiler.h"
#include "tvm-vm/status.h"
#include "tvm-vm/version.h"

namespace tvmvm::isolated {

// Descriptors of the process. The last one is there where the model is given as bytes.
inline constexpr int kRequestFile = 3, kAnswerPipe = 4, kProgramFile = 5, kModelFile = 6;

// What a process writes to its standard error where it has no memory left for an answer.
inline constexpr std::string_view kNoMemory = "tvm-vm: out of memory\n";

struct Request {
  uint32_t version = TVMVM_VERSION;
  bool has_model_file = false;
  std::string path;       // where there is none
  int64_t max_bytes = 0;  // IsolationOptions
  // A callback that is set arrives as one that does nothing.
  CompileOptions options;
};

enum class AnswerKind : uint32_t {
  kProgress = 1,  // of the stage `text`: `fraction`
  kPrint = 2,     // `text`
  kResult = 3,    // the last one: `result` without its program, which is in the program file
  kError = 4,     // the last one: `code` and `text`
};

struct Answer {
  uint32_t version = TVMVM_VERSION;
  AnswerKind kind = AnswerKind::kError;
  Code code = Code::kInternal;
  std::string text;
  double fraction = 0;
  CompileResult result;
};

// No answer is longer; texts that are printed go in pieces.
inline constexpr uint32_t kMostAnswerBytes = 64 << 20;
inline constexpr size_t kMostPrintedBytes = 16 << 20;

std::string Encode(const Request& request);
std::string Encode(const Answer& answer);
// Of bytes that anyone may have made. Errors: kInvalidArgument.
Expected<Request> DecodeRequest(std::string_view bytes);
Expected<Answer> DecodeAnswer(std::string_view bytes);

}  // namespace tvmvm::isolated
