#include "bytecode/dim_expression.h"

#include <algorithm>
#include <array>

namespace tvmvm {

uint32_t SymbolTable::Intern(std::string_view name) {
  if (auto found = positions_.find(name); found != positions_.end()) return found->second;
  const auto position = static_cast<uint32_t>(names_.size());
  positions_.emplace(names_.emplace_back(name), position);
  return position;
}

// Recursive descent to postfix; depth of the input and of the evaluation stack are both limited by kMaxDepth.
class DimParser {
 public:
  using Op = DimExpression::Op;
  using Step = DimExpression::Step;

  DimParser(std::string_view text, SymbolTable* symbols) : rest_(text), symbols_(symbols) {}

  // False where the text is no expression.
  bool Parse(std::vector<Step>* steps) {
    steps_ = steps;
    return Sum(0) && (SkipSpace(), rest_.empty()) && EvaluationDepth() <= DimExpression::kMaxDepth;
  }
  size_t rest() const { return rest_.size(); }

 private:
  struct Function {
    std::string_view name;
    Op op;
  };
  static constexpr Function kFunctions[] = {
      {"floordiv", Op::kFloorDiv}, {"ceildiv", Op::kCeilDiv}, {"floormod", Op::kFloorMod},
      {"mod", Op::kFloorMod},      {"min", Op::kMin},         {"max", Op::kMax},
      {"eq", Op::kEqual},          {"ne", Op::kNotEqual},     {"lt", Op::kLess},
      {"le", Op::kLessEqual},      {"and", Op::kAnd},         {"or", Op::kOr},
      {"not", Op::kNot},           {"select", Op::kSelect}};

  static bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool IsNamePart(char c) {
    return IsNameStart(c) || IsDigit(c) || c == '.' || c == '$' || c == '#' || c == ':';
  }

  void SkipSpace() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool Accept(std::string_view token) {
    SkipSpace();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void Emit(Op op, int64_t value = 0) { steps_->push_back({op, value}); }

  bool Sum(int depth) {
    if (depth > DimExpression::kMaxDepth || !Product(depth)) return false;
    while (true) {
      Op op = Accept("+") ? Op::kAdd : Accept("-") ? Op::kSub : Op::kNumber;
      if (op == Op::kNumber) return true;
      if (!Product(depth)) return false;
      Emit(op);
    }
  }

  bool Product(int depth) {
    if (!Factor(depth)) return false;
    while (true) {
      Op op = Op::kNumber;
      if (Accept("*"))
        op = Op::kMul;
      else if (Accept("//") || Accept("/"))
        op = Op::kFloorDiv;
      else if (Accept("%"))
        op = Op::kFloorMod;
      else
        return true;
      if (!Factor(depth)) return false;
      Emit(op);
    }
  }

  bool Factor(int depth) {
    if (Accept("(")) return Sum(depth + 1) && Accept(")");
    if (Accept("-")) {
      Emit(Op::kNumber, 0);
      if (depth > DimExpression::kMaxDepth || !Factor(depth + 1)) return false;
      Emit(Op::kSub);
      return true;
    }
    SkipSpace();
    if (rest_.empty()) return false;
    if (IsDigit(rest_.front())) return Number();
    if (rest_.front() == '\'') return Quoted();
    if (!IsNameStart(rest_.front())) return false;
    size_t size = 0;
    while (size < rest_.size() && IsNamePart(rest_[size])) ++size;
    std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (Accept("(")) return Call(name, depth);
    Emit(Op::kSymbol, symbols_->Intern(name));
    return true;
  }

  bool Quoted() {
    size_t size = 1;
    while (size < rest_.size() && rest_[size] != '\'') size += rest_[size] == '\\' ? 2 : 1;
    if (size >= rest_.size()) return false;
    Emit(Op::kSymbol, symbols_->Intern(rest_.substr(0, size + 1)));
    rest_.remove_prefix(size + 1);
    return true;
  }

  bool Number() {
    int64_t value = 0;
    while (!rest_.empty() && IsDigit(rest_.front())) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, rest_.front() - '0', &value))
        return false;
      rest_.remove_prefix(1);
    }
    Emit(Op::kNumber, value);
    return rest_.empty() || !IsNamePart(rest_.front());
  }

  bool Call(std::string_view name, int depth) {
    auto function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                 [&](const Function& candidate) { return candidate.name == name; });
    if (function == std::end(kFunctions)) return false;
    for (int i = 0; i < DimExpression::OperandCount(function->op); ++i)
      if ((i > 0 && !Accept(",")) || !Sum(depth + 1)) return false;
    Emit(function->op);
    return Accept(")");
  }

  int EvaluationDepth() const {
    int depth = 0, deepest = 0;
    for (const Step& step : *steps_) {
      depth += 1 - DimExpression::OperandCount(step.op);
      deepest = std::max(deepest, depth);
    }
    return deepest;
  }

  std::string_view rest_;
  SymbolTable* symbols_;
  std::vector<Step>* steps_ = nullptr;
};

Expected<DimExpression> DimExpression::Parse(std::string_view text, SymbolTable* symbols) {
  DimExpression expression;
  DimParser parser(text, symbols);
  if (parser.Parse(&expression.steps_)) return expression;
  constexpr size_t kShown = 100;
  const bool is_long = text.size() > kShown;
  return MakeError(Code::kInvalidProgram, "'" + std::string(text.substr(0, kShown)) + (is_long ? "..." : "") +
                                              "' is no expression, from character " +
                                              std::to_string(text.size() - parser.rest()) + " on");
}

std::optional<uint32_t> DimExpression::plain_symbol() const {
  if (steps_.size() != 1 || steps_[0].op != Op::kSymbol) return std::nullopt;
  return static_cast<uint32_t>(steps_[0].value);
}

int DimExpression::OperandCount(Op op) {
  switch (op) {
    case Op::kNumber:
    case Op::kSymbol:
      return 0;
    case Op::kNot:
      return 1;
    case Op::kSelect:
      return 3;
    default:
      return 2;
  }
}

std::optional<int64_t> DimExpression::Apply(Op op, const int64_t* operands) {
  const int64_t a = operands[0], b = OperandCount(op) > 1 ? operands[1] : 0;
  int64_t result = 0;
  switch (op) {
    case Op::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::kSub:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::kMul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::kFloorDiv:
    case Op::kCeilDiv:
    case Op::kFloorMod: {
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      const int64_t quotient = a / b, remainder = a % b;
      const bool inexact = remainder != 0, negative = (a < 0) != (b < 0);
      if (op == Op::kFloorDiv) return quotient - (inexact && negative);
      if (op == Op::kCeilDiv) return quotient + (inexact && !negative);
      return inexact && negative ? remainder + b : remainder;
    }
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kEqual:
      return a == b;
    case Op::kNotEqual:
      return a != b;
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kNot:
      return a == 0;
    case Op::kSelect:
      return a != 0 ? operands[1] : operands[2];
    case Op::kNumber:
    case Op::kSymbol:
      break;
  }
  return std::nullopt;
}

std::optional<int64_t> DimExpression::Evaluate(std::span<const int64_t> symbols) const {
  std::array<int64_t, kMaxDepth + 1> stack;  // NOLINT: each place is set before it is read
  int top = 0;
  for (const Step& step : steps_) {
    if (step.op == Op::kNumber) {
      stack[top++] = step.value;
    } else if (step.op == Op::kSymbol) {
      if (symbols[step.value] == kUnbound) return std::nullopt;
      stack[top++] = symbols[step.value];
    } else {
      top -= OperandCount(step.op);
      std::optional<int64_t> result = Apply(step.op, &stack[top]);
      if (!result) return std::nullopt;
      stack[top++] = *result;
    }
  }
  return stack[0];
}

}  // namespace tvmvm
