#include "bytecode/format_text.h"

#include <charconv>

namespace tvmvm {
namespace {

struct Layout {
  bool to_the_right, zeros = false, prefix = false, hexadecimal = false;
  size_t width = 0;
  int digits = -1;  // behind the point; below 0: as many as tell the number
};

Layout LayoutOf(std::string_view text, bool to_the_right) {
  Layout layout{.to_the_right = to_the_right};
  const char* next = text.data();
  const char* const end = next + text.size();
  const auto take = [&](char wanted) { return next != end && *next == wanted && ++next != nullptr; };
  take(':');
  if (take('<')) layout.to_the_right = false;
  if (take('>')) layout.to_the_right = true;
  layout.prefix = take('#');
  layout.zeros = take('0');
  next = std::from_chars(next, end, layout.width).ptr;
  if (take('.')) next = std::from_chars(next, end, layout.digits).ptr;
  layout.hexadecimal = take('x');
  return layout;
}

}  // namespace

void TextArgument::AppendTo(std::string* to, std::string_view text) const {
  const Layout layout = LayoutOf(text, kind_ != Kind::kText && kind_ != Kind::kCharacter);
  char digits[400];  // the largest double has 309, and some behind the point
  char* const end = digits + sizeof digits;
  const int base = layout.hexadecimal ? 16 : 10;
  std::string_view shown;
  const auto show = [&](std::to_chars_result result) {
    shown = {digits, static_cast<size_t>(result.ptr - digits)};
  };
  switch (kind_) {
    case Kind::kText:
      shown = text_;
      break;
    case Kind::kCharacter:
      digits[0] = static_cast<char>(integer_);
      shown = {digits, 1};
      break;
    case Kind::kInteger:
      show(std::to_chars(digits, end, integer_, base));
      break;
    case Kind::kUnsigned:
      show(std::to_chars(digits, end, static_cast<uint64_t>(integer_), base));
      break;
    case Kind::kNumber:
      show(layout.digits < 0 ? std::to_chars(digits, end, number_)
                             : std::to_chars(digits, end, number_, std::chars_format::fixed, layout.digits));
      break;
  }
  if (layout.prefix) *to += "0x";
  const size_t fill = layout.width > shown.size() ? layout.width - shown.size() : 0;
  if (layout.to_the_right) to->append(fill, layout.zeros ? '0' : ' ');
  *to += shown;
  if (!layout.to_the_right) to->append(fill, ' ');
}

void AppendArguments(std::string* to, std::string_view format,
                     std::initializer_list<TextArgument> arguments) {
  const TextArgument* next = arguments.begin();
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    const bool is_brace = c == '{' || c == '}';
    if (is_brace && format[i + 1] != c) {
      const size_t end = format.find('}', i);
      next++->AppendTo(to, format.substr(i + 1, end - i - 1));
      i = end;
    } else {
      *to += c;
      i += is_brace ? 1 : 0;
    }
  }
}

}  // namespace tvmvm
