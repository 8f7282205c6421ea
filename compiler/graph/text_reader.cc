#include "compiler/graph/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

namespace tvmvm::ir {
namespace {

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

// Spaces, and comments that go from "//" to the end of the line.
void TextReader::SkipSpace() {
  while (position_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[position_]))) {
      ++position_;
    } else if (text_.substr(position_, 2) == "//") {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      return;
    }
  }
}

bool TextReader::AtEnd() {
  SkipSpace();
  return position_ >= text_.size();
}

bool TextReader::Sees(std::string_view token) {
  SkipSpace();
  if (text_.substr(position_, token.size()) != token) return false;
  // A word ends where the word ends.
  size_t end = position_ + token.size();
  return !IsWordPart(token.back()) || end >= text_.size() || !IsWordPart(text_[end]);
}

bool TextReader::Take(std::string_view token) {
  if (!Sees(token)) return false;
  position_ += token.size();
  return true;
}

Status TextReader::Want(std::string_view token) {
  if (Take(token)) return {};
  return Fail(fmt::format("'{}'", token));
}

std::string_view TextReader::Word() {
  SkipSpace();
  size_t begin = position_;
  while (position_ < text_.size() && IsWordPart(text_[position_])) ++position_;
  return text_.substr(begin, position_ - begin);
}

Expected<int64_t> TextReader::Integer() {
  if (Take("-inf")) return INT64_MIN;
  if (Take("inf")) return INT64_MAX;
  SkipSpace();
  int64_t value = 0;
  auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
  if (error != std::errc()) return Fail("an integer");
  position_ = static_cast<size_t>(end - text_.data());
  return value;
}

Expected<double> TextReader::Number() {
  if (Take("nan")) return std::numeric_limits<double>::quiet_NaN();
  if (Take("-inf")) return -std::numeric_limits<double>::infinity();
  if (Take("inf")) return std::numeric_limits<double>::infinity();
  SkipSpace();
  double value = 0;
  auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
  if (error != std::errc()) return Fail("a number");
  position_ = static_cast<size_t>(end - text_.data());
  return value;
}

Expected<std::string> TextReader::Quoted() {
  TVMVM_CHECK_OK(Want("\""));
  std::string value;
  for (; position_ < text_.size() && text_[position_] != '"'; ++position_) {
    char c = text_[position_];
    if (c == '\n') return Fail("a closing quote");
    if (c != '\\') {
      value += c;
      continue;
    }
    char next = position_ + 1 < text_.size() ? text_[position_ + 1] : '\0';
    if (next == 'x' && position_ + 3 < text_.size() && HexDigit(text_[position_ + 2]) >= 0 &&
        HexDigit(text_[position_ + 3]) >= 0) {
      value += static_cast<char>(HexDigit(text_[position_ + 2]) * 16 + HexDigit(text_[position_ + 3]));
      position_ += 3;
    } else if (next == '"' || next == '\\') {
      value += next;
      ++position_;
    } else {
      return Fail("an escape: \\\\, \\\" or \\xHH");
    }
  }
  if (position_ >= text_.size()) return Fail("a closing quote");
  ++position_;
  return value;
}

Expected<Dim> TextReader::DimUntil(std::string_view stops) {
  SkipSpace();
  size_t begin = position_;
  int depth = 0;
  for (; position_ < text_.size(); ++position_) {
    char c = text_[position_];
    if (c == '\'') {
      for (++position_; position_ < text_.size() && text_[position_] != '\''; ++position_)
        if (text_[position_] == '\\') ++position_;
      if (position_ >= text_.size()) break;
      continue;
    }
    if (depth == 0 && stops.find(c) != std::string_view::npos) break;
    if (c == '\n') break;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  }
  position_ = std::min(position_, text_.size());
  Expected<Dim> dim = ParseDim(text_.substr(begin, position_ - begin));
  if (dim && named_.empty()) return dim;
  if (dim)
    return Substitute(*dim, [this](const SymbolId& symbol) {
      auto found = named_.find(symbol);
      return found == named_.end() ? std::nullopt : std::optional(found->second);
    });
  position_ = begin;
  return Fail(dim.error().message);
}

Expected<Dims> TextReader::DimList() {
  TVMVM_CHECK_OK(Want("["));
  Dims dims;
  if (Take("]")) return dims;
  do {
    TVMVM_TRY(Dim dim, DimUntil(",]"));
    dims.push_back(std::move(dim));
  } while (Take(","));
  TVMVM_CHECK_OK(Want("]"));
  return dims;
}

tl::unexpected<Error> TextReader::Fail(std::string_view wanted) {
  size_t at = std::min(position_, text_.size());
  auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  size_t start = text_.substr(0, at).rfind('\n');
  size_t column = start == std::string_view::npos ? at + 1 : at - start;
  std::string found = at < text_.size() ? fmt::format("'{}'", text_[at]) : "the end";
  return MakeError(Code::kInvalidArgument,
                   fmt::format("line {}, column {}: found {}, wanted {}", line, column, found, wanted));
}

}  // namespace tvmvm::ir
