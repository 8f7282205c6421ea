// Text of dims: a small expression grammar, printed and parsed here only.
//   sum := ["-"] product {("+" | "-") product}      product := atom {"*" atom}
//   atom := number | symbol | function "(" sum {"," sum} ")" | "(" sum ")"
// Symbols that are no identifiers are quoted: 'my dim'. The nameless symbol, which stands for a dim that
// nobody knows, is "?". Of a named expression the text has the name alone.
#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "compiler/dim/dim.h"

namespace tvmvm::ir {
namespace {

struct FunctionRow {
  std::string_view name;
  DimOp op;
  int arity;
};

constexpr FunctionRow kFunctions[] = {
    {"floordiv", DimOp::kFloorDiv, 2}, {"ceildiv", DimOp::kCeilDiv, 2}, {"mod", DimOp::kFloorMod, 2},
    {"min", DimOp::kMin, 2},           {"max", DimOp::kMax, 2},         {"eq", DimOp::kEqual, 2},
    {"ne", DimOp::kNotEqual, 2},       {"lt", DimOp::kLess, 2},         {"le", DimOp::kLessEqual, 2},
    {"and", DimOp::kAnd, 2},           {"or", DimOp::kOr, 2},           {"not", DimOp::kNot, 1},
    {"select", DimOp::kSelect, 3},
};

bool StartsIdentifier(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool ContinuesIdentifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

std::string NameText(const std::string& name) {
  if (name.empty()) return "?";
  bool plain = StartsIdentifier(name[0]);
  for (char c : name) plain = plain && ContinuesIdentifier(c);
  for (const FunctionRow& row : kFunctions) plain = plain && name != row.name;
  if (plain) return name;
  std::string text = "'";
  for (char c : name) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "'";
}

std::string FunctionText(std::string_view name, const std::vector<Dim>& operands) {
  std::string text = fmt::format("{}(", name);
  for (size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + operands[i].ToString();
  return text + ")";
}

// floordiv(x + (d-1), d) reads better as ceildiv(x, d).
bool IsCeilDiv(const Dim& dim) {
  const Dim& a = dim.operands()[0];
  std::optional<int64_t> divisor = dim.operands()[1].constant();
  return divisor && *divisor > 1 && a.op() == DimOp::kAdd && a.operands().back().IsConstant(*divisor - 1);
}

std::string ProductText(const Dim& dim) {
  std::string text;
  for (const Dim& factor : dim.operands()) {
    std::string part = factor.ToString();
    if (factor.op() == DimOp::kAdd || (factor.is_constant() && factor.value() < 0)) part = "(" + part + ")";
    text += (text.empty() ? "" : "*") + part;
  }
  return text;
}

// The term without its sign, and the sign.
std::pair<bool, std::string> SignedText(const Dim& term) {
  if (term.is_constant()) {
    std::string text = term.ToString();
    bool negative = text[0] == '-';
    return {negative, negative ? text.substr(1) : text};
  }
  if (term.op() != DimOp::kMul) return {false, term.ToString()};
  const Dim& last = term.operands().back();
  if (!last.is_constant() || last.value() >= 0 || last.value() == INT64_MIN)
    return {false, ProductText(term)};
  return {true, (term * Dim(-1)).ToString()};
}

std::string SumText(const Dim& dim) {
  std::string text;
  for (const Dim& term : dim.operands()) {
    auto [negative, magnitude] = SignedText(term);
    text += negative ? "-" : text.empty() ? "" : "+";
    text += magnitude;
  }
  return text;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expected<Dim> ParseAll() {
    TVMVM_TRY(Dim dim, Sum());
    SkipSpace();
    if (position_ < text_.size()) return Fail("end of text");
    return dim;
  }

 private:
  // Deep enough for any expression that a person or this compiler writes.
  static constexpr int kMaxDepth = 200;

  tl::unexpected<Error> Fail(std::string_view wanted) const {
    std::string found = position_ < text_.size() ? fmt::format("'{}'", text_[position_]) : "the end";
    return MakeError(Code::kInvalidArgument,
                     fmt::format("dim '{}': at {}: found {}, wanted {}", text_, position_, found, wanted));
  }
  void SkipSpace() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])))
      ++position_;
  }
  bool Take(char c) {
    SkipSpace();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  Expected<Dim> Sum() {
    if (++depth_ > kMaxDepth) return Fail("a less deeply nested expression");
    Dim sum = 0;
    bool negative = Take('-');
    for (;;) {
      TVMVM_TRY(Dim term, Product(negative));
      sum = sum + term;
      if (Take('+'))
        negative = false;
      else if (Take('-'))
        negative = true;
      else
        break;
    }
    --depth_;
    return sum;
  }

  Expected<Dim> Product(bool negative) {
    TVMVM_TRY(Dim product, Atom(negative));
    while (Take('*')) {
      TVMVM_TRY(Dim factor, Atom(false));
      product = product * factor;
    }
    return product;
  }

  // With its sign, so that the smallest integer can be read.
  Expected<Dim> Atom(bool negative) {
    SkipSpace();
    if (position_ >= text_.size()) return Fail("a number, symbol or '('");
    char c = text_[position_];
    if (std::isdigit(static_cast<unsigned char>(c))) return Number(negative);
    if (Take('?')) return Dim::Symbol(SymbolId());
    TVMVM_TRY(Dim dim, c == '(' ? Parenthesized() : c == '\'' ? Quoted() : Named());
    return negative ? Dim(0) - dim : dim;
  }

  Expected<Dim> Number(bool negative) {
    const char* begin = text_.data() + position_;
    uint64_t magnitude = 0;
    auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), magnitude);
    uint64_t limit = static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0);
    if (error != std::errc() || magnitude > limit) return Fail("a number that fits 64 bits");
    position_ += static_cast<size_t>(end - begin);
    return Dim(static_cast<int64_t>(negative ? -magnitude : magnitude));
  }

  Expected<Dim> Parenthesized() {
    ++position_;
    TVMVM_TRY(Dim dim, Sum());
    if (!Take(')')) return Fail("')'");
    return dim;
  }

  Expected<Dim> Quoted() {
    std::string name;
    for (++position_; position_ < text_.size() && text_[position_] != '\''; ++position_) {
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
      name += text_[position_];
    }
    if (!Take('\'')) return Fail("a closing quote");
    return Dim::Symbol(std::move(name));
  }

  Expected<Dim> Named() {
    size_t begin = position_;
    if (!StartsIdentifier(text_[position_])) return Fail("a number, symbol or '('");
    while (position_ < text_.size() && ContinuesIdentifier(text_[position_])) ++position_;
    std::string_view name = text_.substr(begin, position_ - begin);
    for (const FunctionRow& row : kFunctions)
      if (name == row.name) return Call(row);
    return Dim::Symbol(std::string(name));
  }

  Expected<Dim> Call(const FunctionRow& row) {
    if (!Take('(')) return Fail("'('");
    std::vector<Dim> operands;
    for (int i = 0; i < row.arity; ++i) {
      if (i > 0 && !Take(',')) return Fail(fmt::format("',': {} takes {} operands", row.name, row.arity));
      TVMVM_TRY(Dim operand, Sum());
      operands.push_back(std::move(operand));
    }
    if (!Take(')')) return Fail("')'");
    return Apply(row.op, operands);
  }

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string SymbolId::ToString() const { return NameText(name()); }

std::string Dim::ToString() const {
  switch (op()) {
    case DimOp::kConstant:
      return fmt::format("{}", value());
    case DimOp::kSymbol:
      return symbol().ToString();
    case DimOp::kNamed:
      return NameText(name());
    case DimOp::kAdd:
      return SumText(*this);
    case DimOp::kMul: {
      auto [negative, magnitude] = SignedText(*this);
      return negative ? "-" + magnitude : magnitude;
    }
    case DimOp::kFloorDiv:
      if (IsCeilDiv(*this))
        return FunctionText("ceildiv", {operands()[0] - operands()[1] + 1, operands()[1]});
      break;
    default:
      break;
  }
  for (const FunctionRow& row : kFunctions)
    if (row.op == op()) return FunctionText(row.name, operands());
  return "?";
}

std::string ToString(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + dims[i].ToString();
  return text + "]";
}

Expected<Dim> ParseDim(std::string_view text) { return Parser(text).ParseAll(); }

}  // namespace tvmvm::ir
