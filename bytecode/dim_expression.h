// Dimensions as expressions over symbols: "n", "n*4+1", "ceildiv(n, 2)", "min(n, 512)". The one grammar of
// their texts, in signatures and in the compiler:
//   expression := factor {infix factor}       infix := "+" | "-" | "*" | "//" | "/" (as "//") | "%"
//   factor := ["-"] number | "-" factor | symbol | function "(" expression {"," expression} ")"
//           | "(" expression ")"
// Operators: dim_op.def; "floormod" is "mod". Symbols are identifiers of letters, digits, "_" and "."; others
// are quoted, 'my dim', with \ before quotes and backslashes. "?" is the symbol without a name: a dim that
// nobody knows.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bytecode/dim_op.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// Names of the symbols of one signature; a symbol is addressed by its position.
class SymbolTable {
 public:
  SymbolTable() = default;
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;
  uint32_t Intern(std::string_view name);
  size_t size() const { return names_.size(); }
  const std::string& name(uint32_t symbol) const { return names_[symbol]; }

 private:
  std::deque<std::string> names_;  // stay where they are
  std::unordered_map<std::string_view, uint32_t> positions_;
};

// A symbol as texts have it.
std::string DimSymbolText(std::string_view name);

// Immutable; threads may share it.
class DimExpression {
 public:
  struct Step {
    DimOp op = DimOp::kConstant;
    int64_t value = 0;  // kConstant; kSymbol: its position
  };

  // Errors: kInvalidArgument, saying where the text is no expression.
  static Expected<DimExpression> Parse(std::string_view text, SymbolTable* symbols);

  // In postfix order: an operator follows its operands.
  std::span<const Step> steps() const { return steps_; }
  // The symbol where the expression is nothing else.
  std::optional<uint32_t> plain_symbol() const;

  // nullopt where a symbol is unbound (kUnbound), a division is by zero, or a value does not fit. Allocates
  // nothing.
  static constexpr int64_t kUnbound = INT64_MIN;
  std::optional<int64_t> Evaluate(std::span<const int64_t> symbols) const;

 private:
  friend class DimParser;
  // Of the text, and of the evaluation's stack: enough for what people and the compiler write.
  static constexpr int kMaxDepth = 200;

  std::vector<Step> steps_;
};

}  // namespace tvmvm
