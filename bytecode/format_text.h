// Texts out of a format and what goes into it: FormatText("{} of {}", 3, "five"). The runtime formats
// messages, listings and tables, for which a formatting library would be a twentieth of it.
//
// "{}" stands for what comes next, "{{" and "}}" for a brace. Within: ":", "<" or ">" (to the left or the
// right, as texts and numbers are by themselves), "0" (filled with zeros), a width, "." and digits behind the
// point of a number that is no integer, "x" (hexadecimal) or "#x" (with 0x).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tvmvm {

// A text, a character or a number. Texts are borrowed.
class TextArgument {
 public:
  TextArgument(std::string_view text) : kind_(Kind::kText), text_(text) {}    // NOLINT: implicit
  TextArgument(const std::string& text) : kind_(Kind::kText), text_(text) {}  // NOLINT
  TextArgument(const char* text) : kind_(Kind::kText), text_(text) {}         // NOLINT
  TextArgument(char c) : kind_(Kind::kCharacter), integer_(c) {}              // NOLINT
  TextArgument(bool) = delete;
  template <std::integral T>
  TextArgument(T number)  // NOLINT
      : kind_(std::signed_integral<T> ? Kind::kInteger : Kind::kUnsigned),
        integer_(static_cast<int64_t>(number)) {}
  TextArgument(double number) : kind_(Kind::kNumber), number_(number) {}  // NOLINT

  // `layout`: what stands between the braces.
  void AppendTo(std::string* to, std::string_view layout) const;

 private:
  enum class Kind : uint8_t { kText, kCharacter, kInteger, kUnsigned, kNumber };
  Kind kind_;
  union {
    std::string_view text_;
    int64_t integer_;
    double number_;
  };
};

// Nowhere: to call it while something is compiled is an error, which shows what is wrong.
void WrongFormat(const char* what);

// A format with `count` places, which is looked at when it is compiled.
template <size_t count>
class TextFormat {
 public:
  template <size_t size>
  consteval TextFormat(const char (&text)[size]) : text_(text, size - 1) {  // NOLINT: implicit
    size_t places = 0;
    for (size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] != '{' && text_[i] != '}') continue;
      if (text_[i + 1] == text_[i]) {
        ++i;
      } else {
        if (text_[i] == '}') WrongFormat("a brace is closed that was not opened");
        i = text_.find('}', i);
        if (i == std::string_view::npos) WrongFormat("a brace is not closed");
        ++places;
      }
    }
    if (places != count) WrongFormat("the format has another number of places");
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

void AppendArguments(std::string* to, std::string_view format, std::initializer_list<TextArgument> arguments);

template <class... Args>
void AppendText(std::string* to, TextFormat<sizeof...(Args)> format, const Args&... args) {
  AppendArguments(to, format.text(), {args...});
}

template <class... Args>
std::string FormatText(TextFormat<sizeof...(Args)> format, const Args&... args) {
  std::string text;
  AppendText(&text, format, args...);
  return text;
}

}  // namespace tvmvm
