// A dimension of a signature as an expression over symbols: "n", "n*4+1", "ceildiv(n, 2)", "min(n, 512)".
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

class DimExpression {
 public:
  // Operators + - * // (and /: floor) %, parentheses, and the functions floordiv, ceildiv, floormod (and
  // mod), min, max, eq, ne, lt, le, and, or, not, select. A symbol that is no identifier stands in quotes,
  // 'my dim', with \ before quotes and backslashes; its name keeps them. Errors: kInvalidProgram, saying
  // where the text is no expression.
  static Expected<DimExpression> Parse(std::string_view text, SymbolTable* symbols);

  // The symbol where the expression is nothing else.
  std::optional<uint32_t> plain_symbol() const;

  // nullopt where a symbol is unbound (kUnbound), a division is by zero, or the result does not fit.
  // Allocates nothing.
  static constexpr int64_t kUnbound = INT64_MIN;
  std::optional<int64_t> Evaluate(std::span<const int64_t> symbols) const;

 private:
  friend class DimParser;
  enum class Op : uint8_t {
    kNumber,
    kSymbol,
    kAdd,
    kSub,
    kMul,
    kFloorDiv,
    kCeilDiv,
    kFloorMod,
    kMin,
    kMax,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kAnd,
    kOr,
    kNot,
    kSelect,
  };
  struct Step {  // of the expression in postfix order
    Op op = Op::kNumber;
    int64_t value = 0;
  };
  static constexpr int kMaxDepth = 200;

  static int OperandCount(Op op);
  static std::optional<int64_t> Apply(Op op, const int64_t* operands);

  std::vector<Step> steps_;
};

}  // namespace tvmvm
