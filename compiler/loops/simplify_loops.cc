#include "compiler/loops/simplify_loops.h"

#include <unordered_map>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kMostUnrolled = 4;    // iterations
constexpr int kMostUnrolledWork = 160;  // statements and operations of one iteration

bool IsLeaf(const Expr& a) {
  return a.op() == ExprOp::kConstant || a.op() == ExprOp::kDim || a.op() == ExprOp::kVariable;
}

bool IsSelfCopy(const Stmt& s) {
  if (s.value.op() != ExprOp::kLoad || s.value->id != s.buffer || s.value->operands.size() != 1) return false;
  return Same(s.value->operands[0], s.index);
}

class Simplifier {
 public:
  StmtPtr Run(const StmtPtr& s) { return s ? Statement(*s) : nullptr; }

 private:
  using Bindings = std::unordered_map<VariableId, Expr>;

  Expr Expression(const Expr& a) const {
    if (!a.valid() || bindings_.empty()) return a;
    Rewriter rewrite([&](const Expr& e) {
      if (e.op() != ExprOp::kVariable) return e;
      auto found = bindings_.find(e->id);
      return found == bindings_.end() ? e : found->second;
    });
    return rewrite(a);
  }

  StmtPtr Statement(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::kBlock:
        return Statements(s);
      case StmtKind::kFor:
        return Loop(s);
      case StmtKind::kIf:
        return Condition(s);
      case StmtKind::kStore: {
        Stmt copy = s;
        for (Expr* e : {&copy.index, &copy.value, &copy.mask}) *e = Expression(*e);
        return IsSelfCopy(copy) ? nullptr : std::make_shared<const Stmt>(std::move(copy));
      }
      case StmtKind::kLet: {
        Expr value = Expression(s.value);
        if (!IsLeaf(value)) {
          bindings_.erase(s.variable);
          return Let(s.variable, std::move(value));
        }
        bindings_[s.variable] = std::move(value);
        return nullptr;
      }
      default:
        return std::make_shared<const Stmt>(s);
    }
  }

  StmtPtr Statements(const Stmt& s) {
    Bindings outside = bindings_;
    std::vector<StmtPtr> kept;
    for (const StmtPtr& child : s.body)
      if (StmtPtr simpler = Run(child)) kept.push_back(std::move(simpler));
    bindings_ = std::move(outside);
    return kept.empty() ? nullptr : Block(std::move(kept));
  }

  StmtPtr Loop(const Stmt& s) {
    Bindings outside = bindings_;
    Stmt copy = s;
    copy.begin = Expression(s.begin);
    copy.end = Expression(s.end);
    std::optional<int64_t> extent = ConstantExtent(copy);
    StmtPtr result;
    if (extent == 1) {
      result = Once(copy);
    } else if (extent != 0) {
      bindings_.erase(s.variable);
      copy.body = {Run(s.body[0])};
      if (copy.loop == LoopKind::kSerial && extent && IsWorthUnrolling(copy, *extent))
        copy.loop = LoopKind::kUnrolled;
      if (copy.body[0]) result = std::make_shared<const Stmt>(std::move(copy));
    }
    bindings_ = std::move(outside);
    return result;
  }

  StmtPtr Once(const Stmt& s) {
    if (IsLeaf(s.begin)) {
      bindings_[s.variable] = s.begin;
      return Run(s.body[0]);
    }
    bindings_.erase(s.variable);
    StmtPtr body = Run(s.body[0]);
    return body ? Block({Let(s.variable, s.begin), body}) : nullptr;
  }

  StmtPtr Condition(const Stmt& s) {
    Expr condition = Expression(s.value);
    if (IsConstant(condition)) {
      if (condition->integer != 0) return Scoped(s.body[0]);
      return s.body.size() > 1 ? Scoped(s.body[1]) : nullptr;
    }
    StmtPtr then = Scoped(s.body[0]), otherwise = s.body.size() > 1 ? Scoped(s.body[1]) : nullptr;
    if (then) return If(condition, then, otherwise);
    return otherwise ? If(Unary(ExprOp::kNot, condition), otherwise) : nullptr;
  }

  StmtPtr Scoped(const StmtPtr& s) {
    Bindings outside = bindings_;
    StmtPtr result = Run(s);
    bindings_ = std::move(outside);
    return result;
  }

  static bool IsWorthUnrolling(const Stmt& loop, int64_t extent) {
    if (extent > kMostUnrolled) return false;
    int64_t work = 0;
    bool has_loops = false;
    VisitStatements(loop.body[0], [&](const Stmt& s) {
      ++work;
      has_loops |= s.kind == StmtKind::kFor && (s.loop == LoopKind::kSerial || s.loop == LoopKind::kStreaming);
      for (const Expr* e : {&s.index, &s.value, &s.mask}) VisitOnce(*e, [&](const Expr&) { ++work; });
    });
    return !has_loops && work * extent <= kMostUnrolled * kMostUnrolledWork;
  }

  Bindings bindings_;
};

}  // namespace

StmtPtr SimplifyLoops(const StmtPtr& root) { return Simplifier().Run(root); }

}  // namespace tvmvm::tensor
