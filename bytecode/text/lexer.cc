#include "bytecode/text/lexer.h"

#include <charconv>

#include "bytecode/format_text.h"

namespace tvmvm::text {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Expected<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    while (true) {
      SkipSpace();
      token_ = Token{.line = line_, .column = static_cast<uint32_t>(at_ - line_start_ + 1)};
      if (at_ == text_.size()) break;
      TVMVM_CHECK_OK(Next());
      tokens.push_back(std::move(token_));
    }
    tokens.push_back(std::move(token_));
    return tokens;
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void SkipSpace() {
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == ';') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        if (at_ == text_.size()) return;
        c = '\n';
      }
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  Status Next() {
    char c = Peek();
    if (IsLetter(c)) return Word();
    if (IsDigit(c) || (c == '-' && IsDigit(Peek(1)))) return Integer();
    if (c == '"') return String();
    return Punctuation();
  }

  Status Word() {
    size_t begin = at_;
    // Two dots are a range, not part of a word.
    while (IsLetter(Peek()) || IsDigit(Peek()) || (Peek() == '.' && Peek(1) != '.')) ++at_;
    token_.kind = TokenKind::kWord;
    token_.text = text_.substr(begin, at_ - begin);
    return {};
  }

  Status Integer() {
    const char* begin = text_.data() + at_;
    auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), token_.value);
    token_.kind = TokenKind::kInteger;
    token_.text.assign(begin, end);
    at_ += static_cast<size_t>(end - begin);
    if (error != std::errc()) return ErrorAt(token_, FormatText("{} does not fit 64 bits", token_.text));
    return {};
  }

  Status String() {
    token_.kind = TokenKind::kString;
    for (++at_; Peek() != '"'; ++at_) {
      if (at_ >= text_.size() || Peek() == '\n') return ErrorAt(token_, "the string has no end");
      if (Peek() != '\\') {
        token_.text += Peek();
        continue;
      }
      ++at_;
      TVMVM_CHECK_OK(Escape());
    }
    ++at_;
    return {};
  }

  // at_ is at the character behind the backslash, and stays at the last one of the escape.
  Status Escape() {
    switch (Peek()) {
      case '"':
      case '\\':
        token_.text += Peek();
        return {};
      case 'n':
        token_.text += '\n';
        return {};
      case 't':
        token_.text += '\t';
        return {};
      case 'x': {
        int high = HexDigit(Peek(1));
        int low = HexDigit(Peek(2));
        if (high < 0 || low < 0) return ErrorAt(token_, "\\x needs two hexadecimal digits");
        token_.text += static_cast<char>(high << 4 | low);
        at_ += 2;
        return {};
      }
      default:
        return ErrorAt(token_, "unknown escape in the string");
    }
  }

  Status Punctuation() {
    token_.kind = TokenKind::kPunctuation;
    std::string_view rest = text_.substr(at_);
    bool two = rest.starts_with("->") || rest.starts_with("..");
    token_.text = rest.substr(0, two ? 2 : 1);
    at_ += token_.text.size();
    if (!two && std::string_view("@()[]{}<>,:=+*?").find(token_.text[0]) == std::string_view::npos)
      return ErrorAt(token_, FormatText("unexpected character {}", Quoted(token_.text)));
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  Token token_;
};

std::string Found(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end";
    case TokenKind::kString:
      return Quoted(token.text);
    default:
      return FormatText("'{}'", token.text);
  }
}

}  // namespace

Expected<std::vector<Token>> Tokenize(std::string_view text) { return Lexer(text).Run(); }

tl::unexpected<Error> ErrorAt(const Token& token, std::string_view what) {
  return MakeError(Code::kInvalidArgument, FormatText("{}:{}: {}", token.line, token.column, what));
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (c == '\n')
      quoted += "\\n";
    else if (c == '\t')
      quoted += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      quoted += FormatText("\\x{:02x}", static_cast<unsigned char>(c));
    else
      quoted += c;
  }
  return quoted + '"';
}

bool IsBareWord(std::string_view text) {
  if (text.empty() || !IsLetter(text[0])) return false;
  if (text.find("..") != std::string_view::npos || text.back() == '.') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return IsLetter(c) || IsDigit(c) || c == '.'; });
}

std::optional<uint32_t> NumberBehind(char letter, const Token& token) {
  if (token.kind != TokenKind::kWord || token.text.size() < 2 || token.text[0] != letter) return std::nullopt;
  uint32_t number = 0;
  const char* end = token.text.data() + token.text.size();
  auto [rest, error] = std::from_chars(token.text.data() + 1, end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

const Token& TokenStream::Take() {
  const Token& token = Peek();
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool TokenStream::Accept(std::string_view punctuation) {
  if (!Peek().Is(punctuation)) return false;
  Take();
  return true;
}

bool TokenStream::AcceptWord(std::string_view word) {
  if (!Peek().IsWord(word)) return false;
  Take();
  return true;
}

tl::unexpected<Error> TokenStream::Wanted(std::string_view wanted) const {
  return ErrorAt(Peek(), FormatText("wanted {}, found {}", wanted, Found(Peek())));
}

Status TokenStream::Expect(std::string_view punctuation) {
  if (!Accept(punctuation)) return Wanted(FormatText("'{}'", punctuation));
  return {};
}

Status TokenStream::ExpectWord(std::string_view word) {
  if (!AcceptWord(word)) return Wanted(FormatText("'{}'", word));
  return {};
}

Expected<std::string> TokenStream::Word(std::string_view wanted) {
  if (Peek().kind != TokenKind::kWord) return Wanted(wanted);
  return Take().text;
}

Expected<std::string> TokenStream::String(std::string_view wanted) {
  if (Peek().kind != TokenKind::kString) return Wanted(wanted);
  return Take().text;
}

Expected<int64_t> TokenStream::Integer(int64_t low, int64_t high) {
  const Token& token = Peek();
  if (token.kind != TokenKind::kInteger) return Wanted("a number");
  if (token.value < low || token.value > high) return Wanted(FormatText("a number from {} to {}", low, high));
  return Take().value;
}

Expected<std::string> TokenStream::Name(std::string_view wanted) {
  if (Peek().kind != TokenKind::kWord && Peek().kind != TokenKind::kString) return Wanted(wanted);
  return Take().text;
}

Expected<uint32_t> TokenStream::Numbered(char letter, std::string_view wanted) {
  std::optional<uint32_t> number = NumberBehind(letter, Peek());
  if (!number) return Wanted(wanted);
  Take();
  return *number;
}

}  // namespace tvmvm::text
