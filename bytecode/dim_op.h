// The operators of dimension expressions: how they are written and what they compute. For the text of
// signatures, the compiler's dims and the scalar instructions alike. No state: any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bytecode/instruction.h"

namespace tvmvm {

enum class DimOp : uint8_t {
  kConstant,
  kSymbol,
#define DIM_OP(name, ...) k##name,
#include "bytecode/dim_op.def"
  kNamed,  // the compiler's alone: its operand, under a name, which texts have as a symbol
};

struct DimOpRow {
  DimOp op;
  int arity = 0;
  std::string_view function = {};  // "" where it is only written infix
  std::string_view infix = {};
  int precedence = 0;
  Opcode opcode = {};  // computes it, of operands that are 0 or 1 where it is logic
};

// By operator, then further spellings.
inline constexpr DimOpRow kDimOps[] = {
    {DimOp::kConstant},
    {DimOp::kSymbol},
#define DIM_OP(name, arity, function, infix, precedence) \
  {DimOp::k##name, arity, function, infix, precedence, Opcode::k##name},
#include "bytecode/dim_op.def"
    {DimOp::kNamed, 1},
    {DimOp::kFloorDiv, 2, "", "/", 2},
    {DimOp::kFloorMod, 2, "floormod"},
};
constexpr const DimOpRow& RowOf(DimOp op) { return kDimOps[static_cast<size_t>(op)]; }
// The row of a function; null where no operator has this name.
const DimOpRow* FindDimFunction(std::string_view name);

// *result = `a` op `b`; of an operator with one operand `b` is ignored. Comparisons and logic give 0 or 1.
// False: the result does not fit, a division is by zero, or the operator has another number of operands.
// Inline, so that a known `op` costs what it does.
[[gnu::always_inline]] inline bool Compute(DimOp op, int64_t a, int64_t b, int64_t* result) {
  auto give = [result](int64_t value) {
    *result = value;
    return true;
  };
  switch (op) {
    case DimOp::kAdd:
      return !__builtin_add_overflow(a, b, result);
    case DimOp::kSub:
      return !__builtin_sub_overflow(a, b, result);
    case DimOp::kMul:
      return !__builtin_mul_overflow(a, b, result);
    case DimOp::kFloorDiv:
    case DimOp::kCeilDiv:
    case DimOp::kFloorMod: {
      if (b == 0 || (b == -1 && a == INT64_MIN)) [[unlikely]]
        return false;
      const int64_t quotient = a / b, remainder = a % b;
      const bool inexact = remainder != 0, negative = (a < 0) != (b < 0);
      if (op == DimOp::kFloorDiv) return give(quotient - (inexact && negative));
      if (op == DimOp::kCeilDiv) return give(quotient + (inexact && !negative));
      return give(inexact && negative ? remainder + b : remainder);
    }
    case DimOp::kMin:
      return give(b < a ? b : a);
    case DimOp::kMax:
      return give(a < b ? b : a);
    case DimOp::kEqual:
      return give(a == b);
    case DimOp::kNotEqual:
      return give(a != b);
    case DimOp::kLess:
      return give(a < b);
    case DimOp::kLessEqual:
      return give(a <= b);
    case DimOp::kAnd:
      return give(a != 0 && b != 0);
    case DimOp::kOr:
      return give(a != 0 || b != 0);
    case DimOp::kNot:
      return give(a == 0);
    default:
      return false;
  }
}
// The same, nullopt for false.
inline std::optional<int64_t> Apply(DimOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  return Compute(op, a, b, &result) ? std::optional(result) : std::nullopt;
}

// Of operands that may be unknown: select needs the one that it chooses, all others need all. Operators of
// two operands take more, from left to right.
std::optional<int64_t> Apply(DimOp op, std::span<const std::optional<int64_t>> operands);

}  // namespace tvmvm
