// Tokens of the assembler's text. Line ends mean nothing; a comment runs from ';' to the end of its line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm::text {

enum class TokenKind : uint8_t {
  kWord,         // letters, digits, '_' and '.', not starting with a digit: "branch.if", "r3", "f32"
  kInteger,      // "-12"
  kString,       // "\"a b\"", escapes resolved
  kPunctuation,  // one of @()[]{}<>,:=+*? or "->" or ".."
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int64_t value = 0;  // integers
  uint32_t line = 0;  // from 1
  uint32_t column = 0;

  bool Is(std::string_view punctuation) const {
    return kind == TokenKind::kPunctuation && text == punctuation;
  }
  bool IsWord(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

// Errors: kInvalidArgument, "3:14: ...".
[[nodiscard]] Expected<std::vector<Token>> Tokenize(std::string_view text);

tl::unexpected<Error> ErrorAt(const Token& token, std::string_view what);

// A string as the lexer reads it back, quotes included.
std::string Quoted(std::string_view text);
// Whether the text can stand without quotes where a word is wanted.
bool IsBareWord(std::string_view text);

// The tokens of a text, read from front to back.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  // The last token is the end and is never passed.
  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  const Token& Take();
  bool Accept(std::string_view punctuation);
  bool AcceptWord(std::string_view word);

  // Errors name what was wanted and what was found.
  [[nodiscard]] Status Expect(std::string_view punctuation);
  [[nodiscard]] Status ExpectWord(std::string_view word);
  [[nodiscard]] Expected<std::string> Word(std::string_view wanted);
  [[nodiscard]] Expected<std::string> String(std::string_view wanted);
  [[nodiscard]] Expected<int64_t> Integer(int64_t low, int64_t high);
  // A word or a string: names are quoted only where they must be.
  [[nodiscard]] Expected<std::string> Name(std::string_view wanted);
  // A number with a letter in front: "c12".
  [[nodiscard]] Expected<uint32_t> Numbered(char letter, std::string_view wanted);

  tl::unexpected<Error> Wanted(std::string_view wanted) const;

 private:
  std::vector<Token> tokens_;
  size_t next_ = 0;
};

// The number behind the letter, when the token is such a word.
std::optional<uint32_t> NumberBehind(char letter, const Token& token);

}  // namespace tvmvm::text
