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
  bool is_kept = false;           // depends on it by way of what the kernel has written

  bool is_bounded() const { return !up && !down; }
  friend bool operator==(Freedom, Freedom) = default;
  friend Freedom operator|(Freedom a, Freedom b) {
    return {a.up || b.up, a.down || b.down, a.any || b.any, a.is_kept || b.is_kept};
  }
};
constexpr Freedom kFree{true, true, true};

// Nothing is known of where a value that depends on memory lies.
Freedom Anything(Freedom operands) { return operands.any ? kFree : Freedom(); }
Freedom Opposite(Freedom a) { return {a.down, a.up, a.any, a.is_kept}; }

class IndexChecker {
 public:
  explicit IndexChecker(const LoopKernel& kernel) : kernel_(kernel) {
    // What is kept in local buffers is known when nothing is added any more.
    do {
      has_grown_ = false;
      known_.clear();
      variables_.clear();
      Visit(*kernel.body, false);
    } while (has_grown_);
  }
  bool is_bounded() const { return is_bounded_; }

 private:
  // `depends`: memory decides whether, or how often, the statement is done.
  void Visit(const Stmt& s, bool depends) {
    Statement(s, depends);
    if (s.kind == StmtKind::kIf) depends = depends || Of(s.value).any;
    if (s.kind == StmtKind::kFor) depends = depends || Of(s.begin).any || Of(s.end).any;
    for (const StmtPtr& inner : s.body)
      if (inner != nullptr) Visit(*inner, depends);
  }

  void Statement(const Stmt& s, bool depends) {
    for (const Expr& e : {s.begin, s.end, s.value, s.index, s.mask})
      if (e.valid()) Look(e);
    if (s.kind == StmtKind::kStore || s.kind == StmtKind::kMatrix) Require(s.index);
    if (s.kind == StmtKind::kMatrix)
      for (const Expr& place : {s.value, s.mask})
        if (place.valid()) Require(place);
    if (s.kind == StmtKind::kStore && IsFollowed(s.buffer))
      Keep(s.buffer, Of(s.value), depends || (s.mask.valid() && Of(s.mask).any));
    if (s.kind == StmtKind::kTranspose && IsFollowed(s.buffer)) Keep(s.buffer, Kept(s.from), depends);
    if (s.kind == StmtKind::kLet) variables_[s.variable] = Of(s.value);
    if (s.kind == StmtKind::kGroupReduce) variables_[s.variable] = Anything(Of(s.value));
    if (s.kind == StmtKind::kFor) {
      const Freedom begin = Of(s.begin), end = Of(s.end);
      variables_[s.variable] = {end.up, begin.down, begin.any || end.any, begin.is_kept || end.is_kept};
    }
  }

  void Require(const Expr& index) { is_bounded_ = is_bounded_ && index.valid() && Of(index).is_bounded(); }

  // Integers in buffers that only the kernel writes.
  bool IsFollowed(uint32_t buffer) const {
    return !kernel_.buffers[buffer].is_argument && IsInteger(kernel_.buffers[buffer].dtype);
  }

  Freedom Kept(uint32_t buffer) const {
    if (!IsFollowed(buffer)) return kFree;
    const auto found = kept_.find(buffer);
    return found != kept_.end() ? found->second : Freedom();
  }

  // What memory has a say in, and is made of what was kept, may grow with every time: a counter of what is
  // found.
  void Keep(uint32_t buffer, Freedom value, bool depends) {
    if (depends || (value.any && value.is_kept)) value = kFree;
    if (value.any) value.is_kept = true;
    Freedom& kept = kept_[buffer];
    has_grown_ = has_grown_ || !((kept | value) == kept);
    kept = kept | value;
  }

  // Operands come first.
  void Look(const Expr& root) {
    VisitOnce(root, [this](const Expr& e) {
      known_[e.get()] = Node(e);
      if (e.op() == ExprOp::kLoad) Require(e->operands[0]);
    });
  }
  Freedom Of(const Expr& e) const { return known_.at(e.get()); }

  Freedom Node(const Expr& e) const {
    if (e.op() == ExprOp::kLoad) return Kept(e->id);
    if (e.op() == ExprOp::kVariable) {
      const auto found = variables_.find(e->id);
      return found != variables_.end() ? found->second : Freedom();
    }
    Freedom all;
    for (const Expr& operand : e->operands) all = all | Of(operand);
    if (!all.any || e->operands.empty()) return {};
    const Freedom within{.any = true, .is_kept = all.is_kept};  // bounds
    if (e.dtype() == DType::kBool) return within;
    const Freedom a = Of(e->operands[0]), b = e->operands.size() > 1 ? Of(e->operands[1]) : Freedom();
    switch (e.op()) {
      case ExprOp::kMin:
        return {a.up && b.up, all.down, true, all.is_kept};
      case ExprOp::kMax:
        return {all.up, a.down && b.down, true, all.is_kept};
      case ExprOp::kAdd:
      case ExprOp::kRamp:
      case ExprOp::kBroadcast:
      case ExprOp::kReduceMin:
      case ExprOp::kReduceMax:
        return all;
      case ExprOp::kSelect:
        return Of(e->operands[1]) | Of(e->operands[2]) | within;
      case ExprOp::kSub:
        return a | Opposite(b);
      case ExprOp::kNegate:
        return Opposite(a);
      case ExprOp::kMul:
        // Bounds of bounded factors are bounds of the product.
      case ExprOp::kFloorDiv:
      case ExprOp::kDiv:
        return all.is_bounded() ? within : kFree;
      case ExprOp::kFloorMod:
        return b.any ? kFree : within;
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

  const LoopKernel& kernel_;
  std::unordered_map<VariableId, Freedom> variables_;  // others do not depend on memory
  std::unordered_map<uint32_t, Freedom> kept_;         // in local buffers
  std::unordered_map<const ExprNode*, Freedom> known_;
  bool is_bounded_ = true, has_grown_ = false;
};

}  // namespace

bool IndicesAreBounded(const LoopKernel& kernel) { return IndexChecker(kernel).is_bounded(); }

}  // namespace tvmvm::tensor
