#include "compiler/schedules/bounded_indices.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {
namespace {

// What bounds a value from one side, the weakest that has a part in it.
enum class Bound : uint8_t {
  kFixed,       // what memory has no say in
  kCopied,      // what the kernel has written to a local buffer and read again
  kKept,        // what was computed from that
  kKeptMemory,  // the same, where memory has a say in it
  kNone
};

// What memory may make of a value.
struct Freedom {
  Bound up = Bound::kFixed, down = Bound::kFixed;
  bool any = false;  // depends on memory at all

  Bound weakest() const { return std::max(up, down); }
  bool is_bounded() const { return weakest() < Bound::kNone; }
  friend bool operator==(Freedom, Freedom) = default;
  friend Freedom operator|(Freedom a, Freedom b) {
    return {std::max(a.up, b.up), std::max(a.down, b.down), a.any || b.any};
  }
};
constexpr Freedom kFree{Bound::kNone, Bound::kNone, true};

Freedom Within(Bound both, bool any) { return {both, both, any}; }
// Computed of what has these bounds. A sum with what has none wraps: it has none on the other side, either.
Freedom Computed(Freedom operands) {
  if (!operands.is_bounded()) return kFree;
  const Bound least = operands.any ? Bound::kKeptMemory : Bound::kKept;
  if (operands.up == Bound::kCopied) operands.up = least;
  if (operands.down == Bound::kCopied) operands.down = least;
  return operands;
}
// Nothing is known of where a value that depends on memory lies.
Freedom Anything(Freedom operands) {
  return operands.any ? kFree : Within(Computed(operands).weakest(), false);
}
Freedom Opposite(Freedom a) { return {a.down, a.up, a.any}; }

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
    std::vector<std::pair<VariableId, Freedom>> outside;
    if (s.kind == StmtKind::kIf) Assume(s.value, &outside);
    for (const StmtPtr& inner : s.body) {
      if (inner != nullptr) Visit(*inner, depends);
      for (; !outside.empty(); outside.pop_back()) variables_[outside.back().first] = outside.back().second;
    }
  }

  // A condition holds: what it compares bounds names. `outside`: what was known of these before.
  void Assume(const Expr& condition, std::vector<std::pair<VariableId, Freedom>>* outside) {
    const ExprOp op = condition.op();
    if (op != ExprOp::kAnd && op != ExprOp::kLess && op != ExprOp::kLessEqual) return;
    const Expr &a = condition->operands[0], &b = condition->operands[1];
    if (op == ExprOp::kAnd) {
      Assume(a, outside);
      return Assume(b, outside);
    }
    const Freedom of_a = Of(a), of_b = Of(b);
    auto assume = [&](const Expr& name, Bound up, Bound down) {
      if (name.op() != ExprOp::kVariable) return;
      Freedom& known = variables_[name->id];
      outside->emplace_back(name->id, known);
      known = {std::min(known.up, up), std::min(known.down, down), known.any};
    };
    assume(a, of_b.up, Bound::kNone);
    assume(b, Bound::kNone, of_a.down);
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
      variables_[s.variable] = {end.up, begin.down, begin.any || end.any};
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
    if (found == kept_.end()) return Within(Bound::kCopied, false);
    Freedom kept = found->second | Within(Bound::kCopied, false);
    if (kept.any && kept.up == Bound::kKept) kept.up = Bound::kKeptMemory;
    if (kept.any && kept.down == Bound::kKept) kept.down = Bound::kKeptMemory;
    return kept;
  }

  // What memory has a say in, and is computed of what was kept, may grow with every time: a counter of what
  // is found. The choice of one of several numbers does not.
  void Keep(uint32_t buffer, Freedom value, bool depends) {
    const Bound grows = depends ? Bound::kKept : Bound::kKeptMemory;
    value.any = value.any || depends;
    if (value.any && value.up >= grows) value.up = Bound::kNone;
    if (value.any && value.down >= grows) value.down = Bound::kNone;
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
    if (e->operands.empty()) return {};
    Freedom all;
    for (const Expr& operand : e->operands) all = all | Of(operand);
    const Freedom a = Of(e->operands[0]), b = e->operands.size() > 1 ? Of(e->operands[1]) : Freedom();
    if (e.dtype() == DType::kBool) return Within(Bound::kFixed, all.any);
    switch (e.op()) {
      case ExprOp::kMin:
        return {std::min(a.up, b.up), all.down, all.any};
      case ExprOp::kMax:
        return {all.up, std::min(a.down, b.down), all.any};
      case ExprOp::kBroadcast:
      case ExprOp::kReduceMin:
      case ExprOp::kReduceMax:
        return all;
      case ExprOp::kAdd: {
        Freedom sum = Computed(all);
        if (all.is_bounded() && (IsNotNegative(e->operands[0]) || IsNotNegative(e->operands[1])))
          sum.down = all.down;  // it grows upwards alone
        return sum;
      }
      case ExprOp::kRamp:
        return Computed(all);
      case ExprOp::kSelect:
        return b | Of(e->operands[2]) | Within(Bound::kFixed, all.any);
      case ExprOp::kSub:
        return Computed(a | Opposite(b));
      case ExprOp::kNegate:
        return Computed(Opposite(a));
      case ExprOp::kMul:
        // Bounds of bounded factors are bounds of the product.
      case ExprOp::kFloorDiv:
      case ExprOp::kDiv:
        return Within(Computed(all).weakest(), all.any);
      case ExprOp::kFloorMod:
        return b.any ? kFree : Within(Computed(b).weakest(), all.any);
      case ExprOp::kAnd: {
        const Expr& mask = e->operands[1];
        return mask.op() == ExprOp::kConstant && mask->integer >= 0 ? Within(Bound::kFixed, all.any)
                                                                    : Anything(all);
      }
      case ExprOp::kCast:
        return Converted(a, e->operands[0].dtype(), e.dtype());
      default:
        return Anything(all);
    }
  }

  static bool IsNotNegative(const Expr& e) {
    auto is_number = [](const Expr& n) { return n.op() == ExprOp::kConstant && n->integer >= 0; };
    return is_number(e) ||
           (e.op() == ExprOp::kMax && (is_number(e->operands[0]) || is_number(e->operands[1])));
  }

  // Integers that do not get narrower keep their bounds: others wrap, and no number of a float is one of an
  // index. What has no sign is not below 0.
  static Freedom Converted(Freedom a, DType from, DType to) {
    if (from == DType::kBool) return a;
    if (!IsInteger(from) || DTypeBits(to) < DTypeBits(from)) return Anything(a);
    if (IsSignedInteger(from) == IsSignedInteger(to)) return a;
    if (IsSignedInteger(from)) return {a.weakest(), Bound::kFixed, a.any};
    if (a.up == Bound::kNone && DTypeBits(to) == DTypeBits(from)) return Anything(a);
    return {a.up, Bound::kFixed, a.any};
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
