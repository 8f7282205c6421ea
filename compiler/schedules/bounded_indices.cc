#include "compiler/schedules/bounded_indices.h"

#include <unordered_map>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {
namespace {

// What memory may make of a value.
struct Freedom {
  bool up = false, down = false;  // beyond every bound
  bool any = false;               // depends on memory at all

  bool is_bounded() const { return !up && !down; }
  friend Freedom operator|(Freedom a, Freedom b) { return {a.up || b.up, a.down || b.down, a.any || b.any}; }
};
constexpr Freedom kFree{true, true, true};

// Nothing is known of where a value that depends on memory lies.
Freedom Anything(Freedom operands) { return operands.any ? kFree : Freedom(); }
Freedom Opposite(Freedom a) { return {a.down, a.up, a.any}; }

class IndexChecker {
 public:
  explicit IndexChecker(const LoopKernel& kernel) {
    VisitStatements(kernel.body, [this](const Stmt& s) { Statement(s); });
  }
  bool is_bounded() const { return is_bounded_; }

 private:
  void Statement(const Stmt& s) {
    for (const Expr& e : {s.begin, s.end, s.value, s.index, s.mask})
      if (e.valid()) Look(e);
    if (s.kind == StmtKind::kStore || s.kind == StmtKind::kMatrix) Require(s.index);
    if (s.kind == StmtKind::kLet) variables_[s.variable] = Of(s.value);
    if (s.kind == StmtKind::kGroupReduce) variables_[s.variable] = Anything(Of(s.value));
    if (s.kind == StmtKind::kFor) {
      const Freedom begin = Of(s.begin), end = Of(s.end);
      variables_[s.variable] = {end.up, begin.down, begin.any || end.any};
    }
  }

  void Require(const Expr& index) { is_bounded_ = is_bounded_ && index.valid() && Of(index).is_bounded(); }

  // Operands come first.
  void Look(const Expr& root) {
    VisitOnce(root, [this](const Expr& e) {
      known_[e.get()] = Node(e);
      if (e.op() == ExprOp::kLoad) Require(e->operands[0]);
    });
  }
  Freedom Of(const Expr& e) const { return known_.at(e.get()); }

  Freedom Node(const Expr& e) const {
    if (e.op() == ExprOp::kLoad) return kFree;
    if (e.op() == ExprOp::kVariable) {
      const auto found = variables_.find(e->id);
      return found != variables_.end() ? found->second : Freedom();
    }
    Freedom all;
    for (const Expr& operand : e->operands) all = all | Of(operand);
    if (!all.any || e->operands.empty()) return {};
    if (e.dtype() == DType::kBool) return {.any = true};
    const Freedom a = Of(e->operands[0]), b = e->operands.size() > 1 ? Of(e->operands[1]) : Freedom();
    switch (e.op()) {
      case ExprOp::kMin:
        return {a.up && b.up, all.down, true};
      case ExprOp::kMax:
        return {all.up, a.down && b.down, true};
      case ExprOp::kAdd:
      case ExprOp::kRamp:
      case ExprOp::kBroadcast:
      case ExprOp::kReduceMin:
      case ExprOp::kReduceMax:
        return all;
      case ExprOp::kSelect:
        return Of(e->operands[1]) | Of(e->operands[2]) | Freedom{.any = true};
      case ExprOp::kSub:
        return a | Opposite(b);
      case ExprOp::kNegate:
        return Opposite(a);
      case ExprOp::kMul:
        // Bounds of bounded factors are bounds of the product.
      case ExprOp::kFloorDiv:
      case ExprOp::kDiv:
        return all.is_bounded() ? Freedom{.any = true} : kFree;
      case ExprOp::kFloorMod:
        return b.any ? kFree : Freedom{.any = true};
      case ExprOp::kCast: {
        // Of integers that do not get narrower: others wrap, and no number of a float is one of an index.
        const DType from = e->operands[0].dtype();
        const bool keeps = IsInteger(from) && DTypeBits(e.dtype()) >= DTypeBits(from);
        return keeps || from == DType::kBool ? a : Anything(a);
      }
      default:
        return Anything(all);
    }
  }

  std::unordered_map<VariableId, Freedom> variables_;  // others do not depend on memory
  std::unordered_map<const ExprNode*, Freedom> known_;
  bool is_bounded_ = true;
};

}  // namespace

bool IndicesAreBounded(const LoopKernel& kernel) { return IndexChecker(kernel).is_bounded(); }

}  // namespace tvmvm::tensor
