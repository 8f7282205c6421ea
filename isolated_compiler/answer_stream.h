// Answers out of what a pipe gives.
#pragma once

#include <optional>
#include <string>

#include "isolated_compiler/messages.h"

namespace tvmvm::isolated {

// An answer as it stands in the pipe.
std::string Framed(const Answer& answer);

class AnswerStream {
 public:
  void Add(std::string_view bytes) { bytes_ += bytes; }
  // The next one that is complete, if any. Errors: kInvalidArgument; then nothing more can be told.
  Expected<std::optional<Answer>> Next();

 private:
  std::string bytes_;
};

}  // namespace tvmvm::isolated
