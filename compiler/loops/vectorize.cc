#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_ir.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {
namespace {

bool IsVarying(const Expr& e) { return e.lanes() > 1 && e.op() != ExprOp::kBroadcast; }
Expr Uniform(const Expr& e) { return e.op() == ExprOp::kBroadcast ? e->operands[0] : e; }

Expr Conjunction(const Expr& a, const Expr& b) {
  if (!a.valid()) return b;
  if (!b.valid()) return a;
  return And(a, b);
}

bool LoadsFrom(const Expr& root, uint32_t buffer) {
  bool found = false;
  VisitOnce(root, [&](const Expr& e) { found |= e.op() == ExprOp::kLoad && e->id == buffer; });
  return found;
}

bool HasVectors(const StmtPtr& root) {
  bool found = false;
  VisitStatements(root, [&](const Stmt& s) { found |= s.value.valid() && s.value.lanes() > 1; });
  return found;
}

// Which lanes of a ramp are a number that all lanes share, compared as 32 bits; invalid: `e` is another
// thing. Differences wrap as the ramp does, and are none of its steps where they lie beyond it.
Expr CompareRamp(const Expr& e, const Expr& ramp, const Expr& shared) {
  if (ramp.op() != ExprOp::kRamp || ramp.dtype() != DType::kI64 || IsVarying(shared)) return {};
  const Expr& step = ramp->operands[1];
  if (!IsConstant(step) || step->integer < 1 || step->integer > kSmallSize / ramp.lanes()) return {};
  const Expr difference = Uniform(shared) - ramp->operands[0];
  const Expr bounded = Max(Min(difference, IntConstant(step->integer * ramp.lanes())), IntConstant(-1));
  const Expr lanes = Ramp(IntConstant(0, DType::kI32), IntConstant(step->integer, DType::kI32), ramp.lanes());
  return Binary(e.op(), lanes, Broadcast(Cast(DType::kI32, bounded), ramp.lanes()));
}

// Turns the body of one loop into vector statements.
class BodyVectorizer {
 public:
  BodyVectorizer(LoopKernel& kernel, const Stmt& loop, int lanes) : kernel_(kernel), lanes_(lanes) {
    replacements_.emplace(loop.variable, Ramp(loop.begin, loop.step, lanes));
  }

  // nullptr where the loop must stay serial.
  StmtPtr Run(const StmtPtr& body) {
    VisitStatements(body, [this](const Stmt& s) {
      if (s.kind != StmtKind::kAllocate) return;
      private_.insert(s.buffer);
      Memory memory = kernel_.buffers[s.buffer].memory;
      possible_ &= memory != Memory::kScratch && memory != Memory::kShared;
    });
    if (!possible_) return nullptr;
    StmtPtr result = Statement(*body, {});
    if (!possible_) return nullptr;
    for (uint32_t buffer : private_) kernel_.buffers[buffer].size *= lanes_;
    return result;
  }

 private:
  using Memo = std::unordered_map<const ExprNode*, Expr>;

  StmtPtr Impossible() {
    possible_ = false;
    return Block({});
  }

  Expr Map(const Expr& e, const Expr& mask) {
    Memo memo;
    return Map(e, mask, memo);
  }

  Expr Map(const Expr& e, const Expr& mask, Memo& memo) {
    if (auto found = memo.find(e.get()); found != memo.end()) return found->second;
    Expr result = MapNode(e, mask, memo);
    memo.emplace(e.get(), result);
    return result;
  }

  Expr MapNode(const Expr& e, const Expr& mask, Memo& memo) {
    if (e.op() == ExprOp::kVariable) {
      auto found = replacements_.find(e->id);
      return found == replacements_.end() ? e : found->second;
    }
    std::vector<Expr> operands;
    for (const Expr& operand : e->operands) operands.push_back(Map(operand, mask, memo));
    if (e.op() == ExprOp::kEqual || e.op() == ExprOp::kNotEqual)
      for (const bool swaps : {false, true})
        if (Expr compared = CompareRamp(e, operands[swaps], operands[!swaps]); compared.valid())
          return compared;
    if (e.op() != ExprOp::kLoad) return WithOperands(e, std::move(operands));
    Expr condition = operands.size() > 1 ? Conjunction(operands[1], mask) : mask;
    return Load(e->id, e.dtype(), PrivateIndex(e->id, operands[0]), condition);
  }

  // Element i of a private buffer becomes lanes [i * lanes, (i + 1) * lanes).
  Expr PrivateIndex(uint32_t buffer, const Expr& index) const {
    if (!private_.count(buffer)) return index;
    return index * IntConstant(lanes_) + Ramp(IntConstant(0), IntConstant(1), lanes_);
  }

  StmtPtr Statement(const Stmt& s, const Expr& mask) {
    if (!possible_) return Block({});
    switch (s.kind) {
      case StmtKind::kBlock: {
        std::vector<StmtPtr> statements;
        for (const StmtPtr& child : s.body) statements.push_back(Statement(*child, mask));
        return KeepBlock(std::move(statements));
      }
      case StmtKind::kFor:
        return Loop(s, mask);
      case StmtKind::kIf:
        return Condition(s, mask);
      case StmtKind::kStore:
        return VectorStore(s, mask);
      case StmtKind::kLet:
        return VectorLet(s, mask);
      case StmtKind::kAllocate:
        return Allocate(s.buffer);
      case StmtKind::kFail:
        if (s.value.valid()) return Impossible();  // one found value a lane
        return mask.valid() ? If(Unary(ExprOp::kReduceOr, mask), Fail(s.code)) : Fail(s.code);
      case StmtKind::kTranspose:
      case StmtKind::kMatrix:
      case StmtKind::kBarrier:
      case StmtKind::kGroupReduce:
        return Impossible();  // once for all iterations, or once for each: the schedule must say
    }
    return Impossible();
  }

  static StmtPtr KeepBlock(std::vector<StmtPtr> statements) {
    Stmt block;
    block.body = std::move(statements);
    return std::make_shared<const Stmt>(std::move(block));
  }

  StmtPtr Loop(const Stmt& s, const Expr& mask) {
    Expr begin = Map(s.begin, mask), end = Map(s.end, mask);
    if (IsVarying(begin) || IsVarying(end)) return Impossible();
    StmtPtr body = Statement(*s.body[0], mask);
    return For(s.variable, Uniform(begin), Uniform(end), body, s.loop, s.step->integer);
  }

  StmtPtr Condition(const Stmt& s, const Expr& mask) {
    Expr condition = Map(s.value, mask);
    if (!IsVarying(condition)) {
      StmtPtr then = Statement(*s.body[0], mask);
      return If(Uniform(condition), then, s.body.size() > 1 ? Statement(*s.body[1], mask) : nullptr);
    }
    VariableId name = kernel_.NewVariable("mask");
    Expr test = Variable(name, DType::kBool, lanes_);
    std::vector<StmtPtr> statements = {Let(name, condition), Statement(*s.body[0], Conjunction(mask, test))};
    if (s.body.size() > 1)
      statements.push_back(Statement(*s.body[1], Conjunction(mask, Unary(ExprOp::kNot, test))));
    return KeepBlock(std::move(statements));
  }

  StmtPtr VectorStore(const Stmt& s, const Expr& mask) {
    Expr condition = s.mask.valid() ? Conjunction(Map(s.mask, mask), mask) : mask;
    Expr index = PrivateIndex(s.buffer, Map(s.index, condition));
    Expr value = Map(s.value, condition);
    if (IsVarying(index)) return Store(s.buffer, index, Broadcast(value, lanes_), condition);
    // One element: the same value from every lane, or a reduction, which has no place here.
    if (IsVarying(value) || LoadsFrom(value, s.buffer)) return Impossible();
    if (condition.valid()) condition = Unary(ExprOp::kReduceOr, Uniform(condition));
    return Store(s.buffer, Uniform(index), Uniform(value), condition);
  }

  StmtPtr VectorLet(const Stmt& s, const Expr& mask) {
    Expr value = Map(s.value, mask);
    if (!IsVarying(value)) return Let(s.variable, Uniform(value));
    if (value.op() == ExprOp::kRamp) {  // uses see its step
      VariableId base = kernel_.NewVariable("base");
      replacements_[s.variable] = Ramp(Variable(base, value.dtype()), value->operands[1], lanes_);
      return Let(base, value->operands[0]);
    }
    replacements_[s.variable] = Variable(s.variable, value.dtype(), lanes_);
    return Let(s.variable, value);
  }

  LoopKernel& kernel_;
  int lanes_;
  bool possible_ = true;
  std::unordered_map<VariableId, Expr> replacements_;
  std::unordered_set<uint32_t> private_;
};

StmtPtr WithBody(const Stmt& s, std::vector<StmtPtr> body) {
  Stmt copy = s;
  copy.body = std::move(body);
  return std::make_shared<const Stmt>(std::move(copy));
}

StmtPtr VectorizeStatement(LoopKernel& kernel, const StmtPtr& root) {
  std::vector<StmtPtr> body;
  for (const StmtPtr& child : root->body) body.push_back(VectorizeStatement(kernel, child));
  if (root->kind != StmtKind::kFor || root->loop != LoopKind::kVectorized)
    return WithBody(*root, std::move(body));
  std::optional<int64_t> extent = ConstantExtent(*root);
  if (extent && *extent == 0) return Block({});
  if (extent && *extent > 1 && *extent <= 256 && !HasVectors(body[0])) {
    LoopKernel attempt = kernel;
    if (StmtPtr vectors = BodyVectorizer(attempt, *root, static_cast<int>(*extent)).Run(body[0])) {
      kernel = std::move(attempt);
      return vectors;
    }
  }
  return For(root->variable, root->begin, root->end, body[0], LoopKind::kSerial, root->step->integer);
}

}  // namespace

LoopKernel Vectorize(const LoopKernel& kernel) {
  LoopKernel result = kernel;
  if (kernel.body) result.body = VectorizeStatement(result, kernel.body);
  return result;
}

}  // namespace tvmvm::tensor
