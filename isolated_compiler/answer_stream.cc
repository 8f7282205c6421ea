#include "isolated_compiler/answer_stream.h"

#include <cstring>

namespace tvmvm::isolated {

std::string Framed(const Answer& answer) {
  const std::string message = Encode(answer);
  const auto size = static_cast<uint32_t>(message.size());
  std::string frame(reinterpret_cast<const char*>(&size), sizeof size);
  return frame += message;
}

Expected<std::optional<Answer>> AnswerStream::Next() {
  uint32_t size = 0;
  if (bytes_.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, bytes_.data(), sizeof size);
  if (size > kMostAnswerBytes)
    return MakeError(Code::kInvalidArgument, "an answer of " + std::to_string(size) + " bytes");
  if (bytes_.size() - sizeof size < size) return std::nullopt;
  TVMVM_TRY(Answer answer, DecodeAnswer(std::string_view(bytes_).substr(sizeof size, size)));
  bytes_.erase(0, sizeof size + size);
  return answer;
}

}  // namespace tvmvm::isolated
