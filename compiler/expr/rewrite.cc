#include "compiler/expr/rewrite.h"

#include <unordered_set>

#include "compiler/expr/dot_bytes.h"

namespace tvmvm::tensor {
namespace {

bool IsUnary(ExprOp op) {
  return (op >= ExprOp::kNegate && op <= ExprOp::kPopCount) ||
         (op >= ExprOp::kReduceAdd && op <= ExprOp::kReduceOr);
}

bool IsBinary(ExprOp op) { return op >= ExprOp::kAdd && op <= ExprOp::kLessEqual; }

bool SameOperands(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].get() != b[i].get()) return false;
  return true;
}

void Visit(const Expr& a, const std::function<void(const Expr&)>& visit,
           std::unordered_set<const ExprNode*>& seen) {
  if (!a.valid() || !seen.insert(a.get()).second) return;
  for (const Expr& operand : a->operands) Visit(operand, visit, seen);
  if (a->reduction)
    for (const Expr& extent : a->reduction->extents) Visit(extent, visit, seen);
  visit(a);
}

}  // namespace

Expr WithOperands(const Expr& a, std::vector<Expr> operands) {
  if (SameOperands(a->operands, operands)) return a;
  ExprOp op = a.op();
  if (IsBinary(op)) return Binary(op, operands[0], operands[1]);
  if (a->is_falling) return FallingExp(operands[0]);
  if (IsUnary(op)) return Unary(op, operands[0]);
  switch (op) {
    case ExprOp::kElement:
      return Element(a->id, a.dtype(), std::move(operands));
    case ExprOp::kLoad:
      return Load(a->id, a.dtype(), operands[0], operands.size() > 1 ? operands[1] : Expr());
    case ExprOp::kCast:
      return Cast(a.dtype(), operands[0], a->saturate);
    case ExprOp::kBitcast:
      return Bitcast(a.dtype(), operands[0]);
    case ExprOp::kSelect:
      return Select(operands[0], operands[1], operands[2]);
    case ExprOp::kFma:
      return Fma(operands[0], operands[1], operands[2]);
    case ExprOp::kDotBytes:
      return operands.size() > 3 ? DotSmallBytes(operands) : DotBytes(operands[0], operands[1], operands[2]);
    case ExprOp::kScale:
      return Scale(operands[0], operands[1]);
    case ExprOp::kRamp:
      return Ramp(operands[0], operands[1], a.lanes());
    case ExprOp::kBroadcast:
      return Broadcast(operands[0], a.lanes());
    case ExprOp::kReduce:
      return Reduce(*a->reduction, operands[0], a.dtype());
    default:
      return a;
  }
}

Expr Rewriter::operator()(const Expr& a) {
  if (!a.valid()) return a;
  if (auto found = done_.find(a.get()); found != done_.end()) return found->second;
  std::vector<Expr> operands;
  operands.reserve(a->operands.size());
  for (const Expr& operand : a->operands) operands.push_back((*this)(operand));
  Expr rebuilt = WithOperands(a, std::move(operands));
  if (rebuilt->reduction) {
    Reduction reduction = *rebuilt->reduction;
    bool changed = false;
    for (Expr& extent : reduction.extents) {
      Expr now = (*this)(extent);
      changed |= now.get() != extent.get();
      extent = now;
    }
    if (changed) rebuilt = Reduce(std::move(reduction), rebuilt->operands[0], rebuilt.dtype());
  }
  Expr result = rule_(rebuilt);
  keep_alive_.push_back(a);
  done_.emplace(a.get(), result);
  return result;
}

void VisitOnce(const Expr& a, const std::function<void(const Expr&)>& visit) {
  std::unordered_set<const ExprNode*> seen;
  Visit(a, visit, seen);
}

Expr Substitute(const Expr& a, std::span<const std::pair<VariableId, Expr>> replacements) {
  Rewriter rewrite([&](const Expr& e) {
    if (e.op() != ExprOp::kVariable) return e;
    for (const auto& [variable, replacement] : replacements)
      if (variable == e->id) return replacement;
    return e;
  });
  return rewrite(a);
}

}  // namespace tvmvm::tensor
