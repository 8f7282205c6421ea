// Structural equality of expressions.
#include <bit>
#include <unordered_map>
#include <utility>

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {
namespace {

// Memory of earlier answers for pairs of shared nodes; a tree may be a graph with many paths.
struct PairHash {
  size_t operator()(const std::pair<const ExprNode*, const ExprNode*>& p) const {
    return std::hash<const void*>()(p.first) * 31 + std::hash<const void*>()(p.second);
  }
};
using SeenPairs = std::unordered_map<std::pair<const ExprNode*, const ExprNode*>, bool, PairHash>;

bool SameNodes(const Expr& a, const Expr& b, SeenPairs& seen);

bool SameReductions(const Reduction* a, const Reduction* b, SeenPairs& seen) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->accumulator != b->accumulator ||
      a->select_last != b->select_last || a->axes != b->axes || a->extents.size() != b->extents.size())
    return false;
  for (size_t i = 0; i < a->extents.size(); ++i)
    if (!SameNodes(a->extents[i], b->extents[i], seen)) return false;
  return true;
}

bool SameNodes(const Expr& a, const Expr& b, SeenPairs& seen) {
  if (a.get() == b.get()) return true;
  if (!a.valid() || !b.valid()) return false;
  if (a->op != b->op || a->dtype != b->dtype || a->lanes != b->lanes || a->id != b->id ||
      a->integer != b->integer || std::bit_cast<uint64_t>(a->number) != std::bit_cast<uint64_t>(b->number) ||
      a->saturate != b->saturate || a->is_falling != b->is_falling ||
      a->operands.size() != b->operands.size())
    return false;
  if (a->op == ExprOp::kDim && !(a->dim == b->dim)) return false;
  if (a->operands.empty()) return true;
  auto [found, is_new] = seen.try_emplace({a.get(), b.get()}, true);
  if (!is_new) return found->second;
  bool same = SameReductions(a->reduction.get(), b->reduction.get(), seen);
  for (size_t i = 0; same && i < a->operands.size(); ++i)
    same = SameNodes(a->operands[i], b->operands[i], seen);
  seen[{a.get(), b.get()}] = same;
  return same;
}

}  // namespace

bool Same(const Expr& a, const Expr& b) {
  SeenPairs seen;
  return SameNodes(a, b, seen);
}

}  // namespace tvmvm::tensor
