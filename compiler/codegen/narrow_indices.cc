#include "compiler/codegen/narrow_indices.h"

#include <unordered_map>

#include "compiler/expr/rewrite.h"

namespace tvmvm::codegen {
namespace {

using tensor::Expr;
using tensor::ExprOp;
using tensor::Stmt;
using tensor::StmtKind;
using tensor::StmtPtr;
using tensor::VariableId;

class Narrower {
 public:
  explicit Narrower(const tensor::LoopKernel& kernel) {
    for (VariableId variable : kernel.grid) narrow_[variable] = true;
    if (kernel.GroupItems() == 1) return;
    for (VariableId variable : kernel.thread) narrow_[variable] = true;
  }

  StmtPtr Run(const StmtPtr& root) {
    Stmt s = *root;
    done_.clear();
    tried_.clear();
    if (s.kind == StmtKind::kFor) BindLoop(&s);
    if (s.kind == StmtKind::kLet) BindLet(&s);
    if (s.index.valid()) s.index = AnyWidth(s.index);
    for (Expr* e : {&s.mask, &s.value})  // of matrices they are places in buffers
      if (e->valid() && s.kind != StmtKind::kLet) *e = s.kind == StmtKind::kMatrix ? AnyWidth(*e) : Whole(*e);
    for (StmtPtr& child : s.body)
      if (child) child = Run(child);
    return std::make_shared<const Stmt>(std::move(s));
  }

 private:
  struct Index {
    Expr e;                   // i32; invalid: it stays in 64 bits
    bool is_natural = false;  // never negative
  };

  void BindLoop(Stmt* s) {
    Index begin = Try(s->begin), end = Try(s->end);
    narrow_.erase(s->variable);
    if (!begin.e.valid() || !end.e.valid()) {
      s->begin = Whole(s->begin);
      s->end = Whole(s->end);
      return;
    }
    s->begin = begin.e;
    s->end = end.e;
    narrow_[s->variable] = begin.is_natural;
  }

  void BindLet(Stmt* s) {
    Index value = s->value.dtype() == DType::kI64 ? Try(s->value) : Index();
    s->value = value.e.valid() ? value.e : Whole(s->value);
    narrow_.erase(s->variable);
    if (value.e.valid()) narrow_[s->variable] = value.is_natural;
  }

  // The expression with narrow indices inside, of its own type.
  Expr Whole(const Expr& e) {
    if (e.dtype() == DType::kI64) {
      if (tensor::IsConstant(e)) return e;
      Index index = Try(e);
      if (index.e.valid()) return tensor::Cast(DType::kI64, index.e);
    }
    if (e->operands.empty()) return e;
    if (auto found = done_.find(e.get()); found != done_.end()) return found->second;
    Expr result = Rebuilt(e);
    done_.emplace(e.get(), result);
    return result;
  }

  Expr Rebuilt(const Expr& e) {
    if (e.op() == ExprOp::kLoad) {
      Expr mask = e->operands.size() > 1 ? Whole(e->operands[1]) : Expr();
      return tensor::Load(e->id, e.dtype(), AnyWidth(e->operands[0]), mask);
    }
    bool compares = e.op() == ExprOp::kEqual || e.op() == ExprOp::kNotEqual || e.op() == ExprOp::kLess ||
                    e.op() == ExprOp::kLessEqual;
    if (compares && e->operands[0].dtype() == DType::kI64) {
      Index a = Try(e->operands[0]), b = Try(e->operands[1]);
      if (a.e.valid() && b.e.valid()) return tensor::Binary(e.op(), a.e, b.e);
    }
    if (e.op() == ExprOp::kCast && e->operands[0].dtype() == DType::kI64) {
      Index a = Try(e->operands[0]);
      if (a.e.valid()) return tensor::Cast(e.dtype(), a.e, e->saturate);
    }
    std::vector<Expr> operands;
    for (const Expr& operand : e->operands) operands.push_back(Whole(operand));
    return tensor::WithOperands(e, std::move(operands));
  }

  Expr AnyWidth(const Expr& e) {
    Index index = Try(e);
    return index.e.valid() ? index.e : Whole(e);
  }

  Index Try(const Expr& e) {
    if (e.dtype() != DType::kI64) return {};
    if (auto found = tried_.find(e.get()); found != tried_.end()) return found->second;
    Index index = Narrowed(e);
    tried_.emplace(e.get(), index);
    return index;
  }

  Index Narrowed(const Expr& e) {
    switch (e.op()) {
      case ExprOp::kConstant:
        if (e->integer < -tensor::kSmallSize || e->integer > tensor::kSmallSize) return {};
        return {tensor::IntConstant(e->integer, DType::kI32), e->integer >= 0};
      case ExprOp::kDim:
        return {tensor::Cast(DType::kI32, e), RangeOf(e->dim).low >= 0};
      case ExprOp::kVariable: {
        auto found = narrow_.find(e->id);
        if (found == narrow_.end()) return {};
        return {tensor::Variable(e->id, DType::kI32, e.lanes()), found->second};
      }
      case ExprOp::kAdd:
      case ExprOp::kSub:
      case ExprOp::kMul:
      case ExprOp::kMin:
      case ExprOp::kMax:
      case ExprOp::kDiv:
      case ExprOp::kRemainder:
      case ExprOp::kFloorDiv:
      case ExprOp::kFloorMod:
        return Pair(e);
      case ExprOp::kSelect: {
        Index a = Try(e->operands[1]), b = Try(e->operands[2]);
        if (!a.e.valid() || !b.e.valid()) return {};
        return {tensor::Select(Whole(e->operands[0]), a.e, b.e), a.is_natural && b.is_natural};
      }
      case ExprOp::kBroadcast: {
        Index a = Try(e->operands[0]);
        return {a.e.valid() ? tensor::Broadcast(a.e, e.lanes()) : Expr(), a.is_natural};
      }
      case ExprOp::kRamp: {
        Index base = Try(e->operands[0]), step = Try(e->operands[1]);
        if (!base.e.valid() || !step.e.valid()) return {};
        return {tensor::Ramp(base.e, step.e, e.lanes()), base.is_natural && step.is_natural};
      }
      default:
        return {};
    }
  }

  Index Pair(const Expr& e) {
    Index a = Try(e->operands[0]), b = Try(e->operands[1]);
    if (!a.e.valid() || !b.e.valid()) return {};
    bool both = a.is_natural && b.is_natural;
    switch (e.op()) {
      case ExprOp::kSub:
        return {a.e - b.e, false};
      case ExprOp::kMax:
        return {tensor::Max(a.e, b.e), a.is_natural || b.is_natural};
      case ExprOp::kDiv:
      case ExprOp::kFloorDiv:
        return both ? Unsigned(ExprOp::kDiv, a.e, b.e) : Index{tensor::Binary(e.op(), a.e, b.e), false};
      case ExprOp::kRemainder:
      case ExprOp::kFloorMod: {
        if (both) return Unsigned(ExprOp::kRemainder, a.e, b.e);
        return {tensor::Binary(e.op(), a.e, b.e), e.op() == ExprOp::kFloorMod && b.is_natural};
      }
      default:
        return {tensor::Binary(e.op(), a.e, b.e), both};
    }
  }

  static Index Unsigned(ExprOp op, const Expr& a, const Expr& b) {
    Expr result = tensor::Binary(op, tensor::Cast(DType::kU32, a), tensor::Cast(DType::kU32, b));
    return {tensor::Cast(DType::kI32, result), true};
  }

  std::unordered_map<VariableId, bool> narrow_;               // the variables that are i32: natural or not
  std::unordered_map<const tensor::ExprNode*, Expr> done_;    // in the current statement
  std::unordered_map<const tensor::ExprNode*, Index> tried_;  // in the current statement
};

}  // namespace

tensor::LoopKernel NarrowIndices(const tensor::LoopKernel& kernel) {
  tensor::LoopKernel result = kernel;
  result.body = Narrower(kernel).Run(kernel.body);
  return result;
}

}  // namespace tvmvm::codegen
