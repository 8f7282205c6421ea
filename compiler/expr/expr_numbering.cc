#include "compiler/expr/expr_numbering.h"

#include <bit>

namespace tvmvm::tensor {

uint32_t ExprNumbering::Number(const Expr& a) {
  if (auto found = by_node_.find(a.get()); found != by_node_.end()) return found->second;
  Key key{.op = a->op,
          .dtype = a->dtype,
          .lanes = a->lanes,
          .id = a->id,
          .integer = a->integer,
          .number = std::bit_cast<uint64_t>(a->number),
          .saturate = a->saturate,
          .is_falling = a->is_falling,
          .dim = 0,
          .reduction = a->reduction.get(),
          .operands = {}};
  if (a->op == ExprOp::kDim) {
    key.dim = dims_.try_emplace(a->dim, static_cast<uint32_t>(dims_.size() + 1)).first->second;
  }
  key.operands.reserve(a->operands.size());
  for (const Expr& operand : a->operands) key.operands.push_back(Number(operand));
  uint32_t number = by_key_.try_emplace(std::move(key), static_cast<uint32_t>(by_key_.size())).first->second;
  by_node_.emplace(a.get(), number);
  kept_.push_back(a);
  return number;
}

}  // namespace tvmvm::tensor
