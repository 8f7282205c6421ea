#include "cli/npy_header.h"

#include <fmt/format.h>

#include <charconv>

namespace tvmvm::cli {
namespace {

// Reads the few kinds of Python literals that numpy.save writes.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  char Peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool Take(std::string_view token) {
    Peek();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  bool TakeString(std::string* value) {
    char quote = Peek();
    if (quote != '\'' && quote != '"') return false;
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return false;
    *value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  bool TakeShape(std::vector<int64_t>* shape) {
    if (!Take("(")) return false;
    while (Peek() != ')') {
      int64_t dim = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) return false;
      at_ = end - text_.data();
      Take("L");  // Python 2's long integers
      shape->push_back(dim);
      if (!Take(",") && Peek() != ')') return false;
    }
    return Take(")");
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Expected<NpyHeader> ParseNpyHeader(std::string_view text) {
  LiteralReader reader(text);
  NpyHeader header;
  bool has_descr = false, has_order = false, has_shape = false;
  auto malformed = [&](std::string_view why) {
    return MakeError(Code::kInvalidArgument, fmt::format("malformed .npy header: {}", why));
  };
  if (!reader.Take("{")) return malformed("no dictionary");
  while (reader.Peek() != '}') {
    std::string key;
    if (!reader.TakeString(&key) || !reader.Take(":")) return malformed("a key and a colon were expected");
    if (key == "descr") {
      if (reader.Peek() == '[')
        return MakeError(Code::kUnsupported, "arrays of structured type are not supported");
      has_descr = reader.TakeString(&header.descr);
      if (!has_descr) return malformed("'descr' is not a string");
    } else if (key == "fortran_order") {
      header.fortran_order = reader.Take("True");
      has_order = header.fortran_order || reader.Take("False");
      if (!has_order) return malformed("'fortran_order' is neither True nor False");
    } else if (key == "shape") {
      has_shape = reader.TakeShape(&header.shape);
      if (!has_shape) return malformed("'shape' is not a tuple of numbers");
    } else {
      return malformed(fmt::format("unknown key '{}'", key));
    }
    if (!reader.Take(",") && reader.Peek() != '}') return malformed("a comma was expected");
  }
  if (!has_descr || !has_order || !has_shape)
    return malformed("'descr', 'fortran_order' and 'shape' are all needed");
  return header;
}

std::string FormatNpyHeader(const NpyHeader& header) {
  std::string shape;
  for (int64_t dim : header.shape) shape += fmt::format("{}, ", dim);
  if (header.shape.size() > 1) shape.resize(shape.size() - 2);
  if (header.shape.size() == 1) shape.pop_back();
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", header.descr,
                                 header.fortran_order ? "True" : "False", shape);
  constexpr size_t kPrefix = 10;  // magic, version, length
  size_t total = (kPrefix + dict.size() + 1 + 63) / 64 * 64;
  dict.append(total - kPrefix - dict.size() - 1, ' ');
  dict += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(dict.size() & 0xff);
  bytes += static_cast<char>(dict.size() >> 8);
  return bytes + dict;
}

}  // namespace tvmvm::cli
