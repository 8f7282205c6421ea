#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_ir.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {
namespace {

// What must hold where an expression is evaluated; an invalid Expr stands for "nothing".
struct Guard {
  Expr indices;  // the conditions on loop variables and dims only
  Expr all;      // with those that read memory
};

Expr Conjunction(const Expr& a, const Expr& b) {
  if (!a.valid()) return b;
  if (!b.valid()) return a;
  return And(a, b);
}

class LoadGuard {
 public:
  explicit LoadGuard(const Expr& root) {
    VisitOnce(root, [this](const Expr& e) {
      bool reads = e.op() == ExprOp::kLoad;
      for (const Expr& operand : e->operands) reads |= readers_.count(operand.get()) > 0;
      if (reads) readers_.insert(e.get());
    });
    MarkAlwaysEvaluated(root);
  }

  Expr Rewrite(const Expr& e, const Guard& guard) {
    if (!readers_.count(e.get())) return e;
    bool always = always_.count(e.get()) > 0;
    Key key{e.get(), always ? nullptr : guard.all.get()};
    if (auto found = done_.find(key); found != done_.end()) return found->second;
    Expr result = RewriteNode(e, always ? Guard{} : guard);
    done_.emplace(key, result);
    return result;
  }

  Guard Extend(const Guard& guard, const Expr& condition, bool holds) const {
    Guard extended = guard;
    AddConjuncts(condition, holds, &extended);
    return extended;
  }

 private:
  using Key = std::pair<const ExprNode*, const ExprNode*>;
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.first) * 31 + std::hash<const void*>()(key.second);
    }
  };

  void MarkAlwaysEvaluated(const Expr& e) {
    if (!readers_.count(e.get()) || !always_.insert(e.get()).second) return;
    size_t count = e.op() == ExprOp::kSelect ? 1 : e->operands.size();
    for (size_t i = 0; i < count; ++i) MarkAlwaysEvaluated(e->operands[i]);
  }

  void AddConjuncts(const Expr& condition, bool holds, Guard* guard) const {
    if (condition.op() == (holds ? ExprOp::kAnd : ExprOp::kOr)) {
      AddConjuncts(condition->operands[0], holds, guard);
      AddConjuncts(condition->operands[1], holds, guard);
      return;
    }
    if (condition.op() == ExprOp::kNot) return AddConjuncts(condition->operands[0], !holds, guard);
    Expr conjunct = holds ? condition : Unary(ExprOp::kNot, condition);
    guard->all = Conjunction(guard->all, conjunct);
    if (!readers_.count(condition.get())) guard->indices = Conjunction(guard->indices, conjunct);
  }

  Expr RewriteNode(const Expr& e, const Guard& guard) {
    if (e.op() == ExprOp::kSelect) {
      Expr condition = Rewrite(e->operands[0], guard);
      Guard then = Extend(guard, e->operands[0], true), otherwise = Extend(guard, e->operands[0], false);
      kept_.insert(kept_.end(), {then.all, otherwise.all});
      return Select(condition, Rewrite(e->operands[1], then), Rewrite(e->operands[2], otherwise));
    }
    std::vector<Expr> operands;
    for (const Expr& operand : e->operands) operands.push_back(Rewrite(operand, guard));
    if (e.op() != ExprOp::kLoad) return WithOperands(e, std::move(operands));
    bool index_reads = readers_.count(e->operands[0].get()) > 0;
    Expr mask = index_reads ? guard.all : guard.indices;
    if (operands.size() > 1) mask = Conjunction(mask, operands[1]);
    return Load(e->id, e.dtype(), operands[0], mask);
  }

  std::unordered_set<const ExprNode*> readers_;  // nodes with a load in them
  std::unordered_set<const ExprNode*> always_;   // readers that no select stands above on some path
  std::unordered_map<Key, Expr, KeyHash> done_;
  std::vector<Expr> kept_;  // keeps the nodes that keys name alive
};

Expr GuardExpression(const Expr& e) { return LoadGuard(e).Rewrite(e, {}); }

}  // namespace

LoopKernel GuardLoads(const LoopKernel& kernel) {
  LoopKernel result = kernel;
  result.body = MapExpressions(kernel.body, GuardExpression);
  return result;
}

}  // namespace tvmvm::tensor
