#include "compiler/codegen/llvm/poll_points.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "bytecode/kernel_abi.h"
#include "compiler/codegen/llvm/loop_bounds.h"
#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::codegen {
namespace {

using tensor::Expr;
using tensor::ExprOp;
using tensor::Stmt;
using tensor::StmtKind;
using tensor::StmtPtr;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// Work is counted in instructions here, of which so many take a step of KernelPoll::work.
constexpr int64_t kInstructionsPerStep = 8;
// A grid point of at most so much work needs no look: it takes some milliseconds at the very worst, and as a
// rule a tenth of one. Of longer ones, a loop of constant length needs none up to so much.
constexpr double kMostInPoint = 1 << 23, kMostInLoop = 1 << 20;
constexpr double kLoopWork = 4;  // to enter one and to leave it
// What a loop around counts, at most, of loops of unknown length that do not look themselves: as much as one
// in blocks does at once, and where the length has a bound, that many times as little as it may be. A look
// costs as much as some hundred instructions, and most of these loops are short.
constexpr int64_t kShortWork = 64;
constexpr double kCountedLess = 16;
constexpr double kMostInBlock = 1 << 16;  // an iteration of so much may go uncounted, too
constexpr double kScatteredLoad = 64;     // from where data says: as a rule out of no cache
constexpr double kDivision = 8;
// Bytes of a load or store beyond these take what memory does that is in no cache, unless they are in
// registers. Only the length of blocks goes by that: not where to look, nor what is counted of short loops.
constexpr double kBytesPerInstruction = 4;

class Finder {
 public:
  explicit Finder(const tensor::LoopKernel& kernel) : kernel_(kernel) {}

  PollPoints Find() {
    if (WorkOf(*kernel_.body).most.most <= kMostInPoint) return {};
    looks_ = true;
    WorkOf(*kernel_.body);
    return std::move(points_);
  }

 private:
  // What a statement takes; where loops in it are polled, what is around these.
  struct Work {
    Bound most;
    double counted = 0;  // by a loop around that is polled
    bool is_polled = false;
    double moved = 0;  // to be counted beside it by the loop that repeats it
  };

  static Work Known(double amount) { return {{amount, {}, {}}, amount}; }

  Work WorkOf(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::kFor:
        return LoopWork(s);
      case StmtKind::kLet:
        bounds_.Define(s.variable, s.value);
        if (IsOfBlock(s.value)) blocks_.insert(s.variable);
        if (IsOfData(s.value)) of_data_.insert(s.variable);
        break;
      case StmtKind::kTranspose:
        return Known(static_cast<double>(s.rows) * s.columns);
      default:
        break;
    }
    Work work = Known(ExpressionsOf(s));
    work.moved = moved_;
    Bound one = {};  // of neighbours of which one is entered
    size_t first = 0;
    for (size_t i = 0; i < s.body.size(); ++i) {
      const bool is_limited = s.kind == StmtKind::kIf && i == 0 && LimitsVariable(s.value);
      if (is_limited) bounds_.Limit(s.value->operands[0]->id, s.value->operands[1]);
      const Work inner = WorkOf(*s.body[i]);
      if (is_limited) bounds_.Forget(s.value->operands[0]->id);
      work.counted += inner.counted;
      work.moved += inner.moved;
      work.is_polled |= inner.is_polled;
      if (i > first && IsOneOf(s, first, i)) {
        one = Larger(one, inner.most);
        continue;
      }
      work.most = Sum(work.most, one);
      one = inner.most;
      first = i;
    }
    work.most = Sum(work.most, one);
    return work;
  }

  static bool LimitsVariable(const Expr& condition) {
    return (condition.op() == ExprOp::kLess || condition.op() == ExprOp::kLessEqual) &&
           condition->operands[0].op() == ExprOp::kVariable && IsConstant(condition->operands[1]);
  }

  // Whether at most one statement is entered of s.body[first] to s.body[last], if that holds without the
  // last.
  static bool IsOneOf(const Stmt& s, size_t first, size_t last) {
    if (s.kind == StmtKind::kIf) return true;
    const Stmt& added = *s.body[last];
    for (size_t i = first; i < last; ++i)
      if (s.body[i]->kind != StmtKind::kIf || added.kind != StmtKind::kIf || s.body[i]->body.size() > 1 ||
          added.body.size() > 1 || !AreExclusive(s.body[i]->value, added.value))
        return false;
    return true;
  }

  static bool AreExclusive(const Expr& a, const Expr& b) {
    if (a->operands.size() != 2 || b->operands.size() != 2) return false;
    const Expr &left = a->operands[0], &right = a->operands[1];
    if (a.op() == ExprOp::kEqual && b.op() == ExprOp::kEqual)
      return tensor::Same(left, b->operands[0]) && IsConstant(right) && IsConstant(b->operands[1]) &&
             !tensor::Same(right, b->operands[1]);
    return (a.op() == ExprOp::kLess ? b.op() == ExprOp::kLessEqual
                                    : a.op() == ExprOp::kLessEqual && b.op() == ExprOp::kLess) &&
           tensor::Same(left, b->operands[1]) && tensor::Same(right, b->operands[0]);
  }

  Work LoopWork(const Stmt& s) {
    bounds_.Limit(s.variable, s.end);
    if (s.step->integer > 1) blocks_.insert(s.variable);
    Work body = WorkOf(*s.body[0]);
    body.counted += 1;
    if (kernel_.range_end && IsOverResults(s)) return {Bound::Unknown(), kUnbounded, body.is_polled};
    Work loop;
    loop.is_polled = body.is_polled;
    loop.most = Sum(Product(bounds_.IterationsOf(s), Sum(body.most, {1, {}, {}})), {kLoopWork, {}, {}});
    if (auto extent = tensor::ConstantExtent(s)) {
      loop.counted = kLoopWork + static_cast<double>(*extent) * body.counted;
      loop.moved = static_cast<double>(*extent) * body.moved;
      if (loop.most.most <= kMostInLoop || s.loop == tensor::LoopKind::kUnrolled) return loop;
    } else if (loop.most.most <= kMostInLoop) {
      // All blocks of a loop are whole ones, but for the last.
      const double less = IsOfBlock(s.begin) ? 1 : kCountedLess;
      loop.counted = std::min(loop.most.most, std::max<double>(kShortWork, loop.most.most / less));
      return loop;
    }
    if (!looks_) return loop;
    const auto work = static_cast<int64_t>(std::min(body.counted, kMostInLoop));
    PollPoint point;
    const auto with_memory = static_cast<int64_t>(std::min(body.counted + body.moved, kMostInLoop));
    point.work = std::max<int64_t>(1, with_memory / kInstructionsPerStep);
    point.iterations = std::max<int64_t>(1, kWorkBetweenPolls * kInstructionsPerStep / with_memory);
    if (!body.is_polled && body.most.most <= kMostInBlock)
      point.short_iterations = std::max<int64_t>(1, kShortWork / work);
    points_.emplace(&s, point);
    // Of a dim that is the length it is known how little a short one takes.
    const auto shortest = static_cast<double>(point.short_iterations);
    Bound unseen = Scaled(body.most, shortest);
    unseen.most += kLoopWork;
    for (const auto& [dim, each] : loop.most.by) unseen.by.emplace_back(dim, each);
    const double most_unseen = shortest * static_cast<double>(work);
    return {unseen,
            kLoopWork + std::min(most_unseen, std::max<double>(kShortWork, most_unseen / kCountedLess)),
            true};
  }

  bool IsOfBlock(const Expr& begin) const {
    bool is_of_block = false;
    tensor::VisitOnce(begin, [&](const Expr& part) {
      is_of_block |= part.op() == ExprOp::kVariable && blocks_.count(part->id) > 0;
    });
    return is_of_block;
  }

  // Whether data say where that is. Numbers that are no integers are data's.
  bool IsOfData(const Expr& place) const {
    bool is_of_data = false;
    tensor::VisitOnce(place, [&](const Expr& part) {
      is_of_data |= part.op() == ExprOp::kLoad ||
                    (part.op() == ExprOp::kCast && IsFloat(part->operands[0].dtype())) ||
                    (part.op() == ExprOp::kVariable && of_data_.count(part->id) > 0);
    });
    return is_of_data;
  }

  // Whether each iteration stores results of its own. Of a kernel whose calls say how many points they take
  // there are as many as the caller wanted, who cut the grid for it.
  bool IsOverResults(const Stmt& loop) const {
    std::unordered_set<tensor::VariableId> own = {loop.variable};
    bool stores = false;
    auto depends = [&](const Expr& e) {
      bool found = false;
      tensor::VisitOnce(
          e, [&](const Expr& part) { found |= part.op() == ExprOp::kVariable && own.count(part->id) > 0; });
      return found;
    };
    tensor::VisitStatements(loop.body[0], [&](const Stmt& s) {
      if (s.kind == StmtKind::kLet && depends(s.value)) own.insert(s.variable);
      stores |= s.kind == StmtKind::kStore && s.buffer < kernel_.argument_count && depends(s.index);
    });
    return stores;
  }

  double ExpressionsOf(const Stmt& s) {
    double work = 1;
    seen_.clear();
    moved_ = s.kind == StmtKind::kStore ? Moved(s.buffer, s.value) : 0;
    for (const Expr* e : {&s.value, &s.index, &s.mask})
      if (e->valid()) work += ExpressionWork(*e);
    return work;
  }

  double Moved(uint32_t buffer, const Expr& e) const {
    const tensor::BufferInfo& info = kernel_.buffers[buffer];
    if (!info.is_argument && info.memory == tensor::Memory::kRegisters) return 0;
    const auto bytes = static_cast<double>(DTypeBytes(e.dtype(), e.lanes()));
    return std::max(0.0, bytes / kBytesPerInstruction - 1);
  }

  // An instruction for each node, but for what is slow.
  double ExpressionWork(const Expr& e) {
    if (!seen_.insert(e.get()).second) return 0;
    double work = 1;
    if (e.op() == ExprOp::kLoad) {
      const Expr& place = e->operands[0];
      const bool is_scattered = IsOfData(place);
      const bool is_wide =
          place.op() == ExprOp::kRamp ? tensor::IsIntConstant(place->operands[1], 1) : place.lanes() == 1;
      work = is_scattered ? kScatteredLoad * (is_wide ? 1 : e.lanes()) : 1;
      if (!is_scattered) moved_ += Moved(e->id, e);
    } else if (e.op() == ExprOp::kDiv || e.op() == ExprOp::kFloorDiv || e.op() == ExprOp::kFloorMod ||
               e.op() == ExprOp::kRemainder) {
      work = kDivision;
    }
    for (const Expr& operand : e->operands)
      if (operand.valid()) work += ExpressionWork(operand);
    return work;
  }

  const tensor::LoopKernel& kernel_;
  PollPoints points_;
  LoopBounds bounds_;
  std::unordered_set<tensor::VariableId> blocks_;     // where blocks of loops around begin, and what follows
  std::unordered_set<tensor::VariableId> of_data_;    // that hold what data say
  double moved_ = 0;                                  // of the current statement
  bool looks_ = false;                                // else it is asked what a grid point takes
  std::unordered_set<const tensor::ExprNode*> seen_;  // of the current statement
};

}  // namespace

PollPoints FindPollPoints(const tensor::LoopKernel& kernel) { return Finder(kernel).Find(); }

}  // namespace tvmvm::codegen
