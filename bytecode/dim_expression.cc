#include "bytecode/dim_expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "bytecode/format_text.h"

namespace tvmvm {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool StartsName(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool ContinuesName(char c) { return StartsName(c) || IsDigit(c) || c == '.'; }

}  // namespace

const DimOpRow* FindDimFunction(std::string_view name) {
  for (const DimOpRow& row : kDimOps)
    if (!name.empty() && row.function == name) return &row;
  return nullptr;
}

std::optional<int64_t> Apply(DimOp op, std::span<const std::optional<int64_t>> operands) {
  std::optional<int64_t> result = operands[0];
  if (!result) return std::nullopt;
  if (op == DimOp::kSelect) return operands[*result != 0 ? 1 : 2];
  if (operands.size() == 1) return Apply(op, *result, 0);
  for (const std::optional<int64_t>& operand : operands.subspan(1))
    if (result) result = operand ? Apply(op, *result, *operand) : std::nullopt;
  return result;
}

uint32_t SymbolTable::Intern(std::string_view name) {
  if (auto found = positions_.find(name); found != positions_.end()) return found->second;
  const auto position = static_cast<uint32_t>(names_.size());
  positions_.emplace(names_.emplace_back(name), position);
  return position;
}

std::string DimSymbolText(std::string_view name) {
  if (name.empty()) return "?";
  const bool is_plain = StartsName(name[0]) && std::ranges::all_of(name, ContinuesName);
  if (is_plain && FindDimFunction(name) == nullptr) return std::string(name);
  std::string text = "'";
  for (char c : name) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "'";
}

// Recursive descent to postfix. Its functions are false, once, where the text is no expression.
class DimParser {
 public:
  DimParser(std::string_view text, SymbolTable* symbols) : rest_(text), symbols_(symbols) {}

  bool Parse() {
    if (!Infix(1, 0)) return false;
    SkipSpace();
    if (!rest_.empty()) return Fail("end of text");
    return deepest_ <= DimExpression::kMaxDepth || Fail(kLessDeep);
  }
  std::vector<DimExpression::Step> TakeSteps() { return std::move(steps_); }

  Error ErrorIn(std::string_view text) const {
    constexpr size_t kShown = 100;
    return {Code::kInvalidArgument,
            FormatText("dim '{}{}': at {}: found {}, wanted {}", text.substr(0, kShown),
                       text.size() > kShown ? "..." : "", text.size() - rest_.size(),
                       rest_.empty() ? "the end" : FormatText("'{}'", rest_[0]), wanted_)};
  }

 private:
  static constexpr std::string_view kLessDeep = "a less deeply nested expression",
                                    kFactor = "a number, symbol or '('";

  bool Fail(std::string_view wanted) {
    wanted_ = wanted;
    return false;
  }
  void SkipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || (rest_[0] >= '\t' && rest_[0] <= '\r')))
      rest_.remove_prefix(1);
  }
  bool Take(std::string_view token) {
    SkipSpace();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool Emit(DimOp op, int64_t value = 0) {
    depth_ += 1 - RowOf(op).arity;
    deepest_ = std::max(deepest_, depth_);
    steps_.push_back({op, value});
    return true;
  }
  bool EmitSymbol(std::string_view name) { return Emit(DimOp::kSymbol, symbols_->Intern(name)); }

  bool Infix(int precedence, int depth) {
    constexpr int kTightest = std::ranges::max(kDimOps, {}, &DimOpRow::precedence).precedence;
    if (depth > DimExpression::kMaxDepth) return Fail(kLessDeep);
    if (precedence > kTightest) return Factor(depth);
    if (!Infix(precedence + 1, depth)) return false;
    while (const DimOpRow* row = TakeInfix(precedence))
      if (!Infix(precedence + 1, depth) || !Emit(row->op)) return false;
    return true;
  }

  const DimOpRow* TakeInfix(int precedence) {
    for (const DimOpRow& row : kDimOps)
      if (row.precedence == precedence && Take(row.infix)) return &row;
    return nullptr;
  }

  bool Factor(int depth) {
    if (depth > DimExpression::kMaxDepth) return Fail(kLessDeep);
    if (Take("(")) return Infix(1, depth + 1) && (Take(")") || Fail("')'"));
    if (Take("?")) return EmitSymbol("");
    if (Take("'")) return Quoted();
    const bool is_negative = Take("-");
    SkipSpace();
    if (!rest_.empty() && IsDigit(rest_[0])) return Number(is_negative);
    if (is_negative) return Emit(DimOp::kConstant, 0) && Factor(depth + 1) && Emit(DimOp::kSub);
    if (rest_.empty() || !StartsName(rest_[0])) return Fail(kFactor);
    size_t size = 1;
    while (size < rest_.size() && ContinuesName(rest_[size])) ++size;
    const std::string_view name = rest_.substr(0, size);
    const DimOpRow* function = FindDimFunction(name);
    rest_.remove_prefix(size);
    return function != nullptr && Take("(") ? Call(*function, depth + 1) : EmitSymbol(name);
  }

  // With its sign, so that the smallest integer can be read.
  bool Number(bool is_negative) {
    uint64_t magnitude = 0;
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), magnitude);
    const uint64_t limit = static_cast<uint64_t>(INT64_MAX) + (is_negative ? 1 : 0);
    if (error != std::errc() || magnitude > limit) return Fail("a number that fits 64 bits");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return Emit(DimOp::kConstant, static_cast<int64_t>(is_negative ? -magnitude : magnitude));
  }

  bool Quoted() {
    std::string name;
    for (; !rest_.empty() && rest_[0] != '\''; rest_.remove_prefix(1)) {
      if (rest_[0] == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
      name += rest_[0];
    }
    return Take("'") ? EmitSymbol(name) : Fail("a closing quote");
  }

  bool Call(const DimOpRow& function, int depth) {
    for (int i = 0; i < function.arity; ++i) {
      if (i > 0 && !Take(","))
        return Fail(FormatText("',': {} takes {} operands", function.function, function.arity));
      if (!Infix(1, depth)) return false;
    }
    return Take(")") ? Emit(function.op) : Fail("')'");
  }

  std::string_view rest_;
  SymbolTable* symbols_;
  std::vector<DimExpression::Step> steps_;
  int depth_ = 0, deepest_ = 0;  // of the evaluation's stack
  std::string wanted_;
};

Expected<DimExpression> DimExpression::Parse(std::string_view text, SymbolTable* symbols) {
  DimParser parser(text, symbols);
  if (!parser.Parse()) return tl::unexpected(parser.ErrorIn(text));
  DimExpression expression;
  expression.steps_ = parser.TakeSteps();
  return expression;
}

std::optional<uint32_t> DimExpression::plain_symbol() const {
  if (steps_.size() != 1 || steps_[0].op != DimOp::kSymbol) return std::nullopt;
  return static_cast<uint32_t>(steps_[0].value);
}

std::optional<int64_t> DimExpression::Evaluate(std::span<const int64_t> symbols) const {
  std::array<std::optional<int64_t>, kMaxDepth> stack;
  size_t top = 0;
  for (const auto& [op, value] : steps_) {
    const auto arity = static_cast<size_t>(RowOf(op).arity);
    top -= arity;
    if (op == DimOp::kConstant)
      stack[top] = value;
    else if (op == DimOp::kSymbol)
      stack[top] = symbols[value] == kUnbound ? std::nullopt : std::optional(symbols[value]);
    else
      stack[top] = Apply(op, {&stack[top], arity});
    ++top;
  }
  return stack[0];
}

}  // namespace tvmvm
