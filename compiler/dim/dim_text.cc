// Text of dims, in the grammar of bytecode/dim_expression.h.
#include <fmt/format.h>

#include <utility>

#include "bytecode/dim_expression.h"
#include "compiler/dim/dim.h"

namespace tvmvm::ir {
namespace {

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

// The term without its sign, and the sign; with it where the rest alone would be no number of 64 bits.
std::pair<bool, std::string> SignedText(const Dim& term) {
  if (term.is_constant()) {
    std::string text = term.ToString();
    bool negative = text[0] == '-' && term.value() != INT64_MIN;
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

}  // namespace

std::string SymbolId::ToString() const { return DimSymbolText(name()); }

std::string Dim::ToString() const {
  switch (op()) {
    case DimOp::kConstant:
      return fmt::format("{}", value());
    case DimOp::kSymbol:
      return symbol().ToString();
    case DimOp::kNamed:
      return DimSymbolText(name());
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
  return FunctionText(RowOf(op()).function, operands());
}

std::string ToString(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + dims[i].ToString();
  return text + "]";
}

Expected<Dim> ParseDim(std::string_view text) {
  SymbolTable symbols;
  TVMVM_TRY(DimExpression expression, DimExpression::Parse(text, &symbols));
  std::vector<Dim> stack;
  for (const auto& [op, value] : expression.steps()) {
    const auto first = stack.end() - RowOf(op).arity;
    Dim dim = op == DimOp::kConstant ? Dim(value)
              : op == DimOp::kSymbol ? Dim::Symbol(symbols.name(static_cast<uint32_t>(value)))
                                     : Apply(op, {first, stack.end()});
    stack.erase(first, stack.end());
    stack.push_back(std::move(dim));
  }
  return stack[0];
}

}  // namespace tvmvm::ir
