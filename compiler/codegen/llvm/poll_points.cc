#include "compiler/codegen/llvm/poll_points.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "bytecode/kernel_abi.h"
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
// A loop, or a grid point, of so much work needs no look: it is vector instructions for less than a
// millisecond.
constexpr double kMostUnpolled = 1 << 20;
constexpr double kLoopWork = 4;  // to enter one and to leave it
// What a loop around counts, at most, of loops of unknown length that do not look themselves: as much as one
// in blocks does at once, and where the length has a bound, that many times as little as it may be.
constexpr int64_t kShortWork = 64;
constexpr double kCountedLess = 256, kMostCountedLess = 1 << 18;
constexpr double kScatteredLoad = 32;  // from where data says: as a rule out of no cache
constexpr double kDivision = 8;

class Finder {
 public:
  explicit Finder(const tensor::LoopKernel& kernel) : kernel_(kernel) { WorkOf(*kernel.body); }
  PollPoints points() && { return std::move(points_); }

 private:
  // What a statement takes; where loops in it are polled, what is around these.
  struct Work {
    double amount = 0;
    bool is_polled = false;
  };

  Work WorkOf(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::kFor:
        return LoopWork(s);
      case StmtKind::kLet:
        lets_[s.variable] = s.value;
        break;
      case StmtKind::kTranspose:
        return {static_cast<double>(s.rows) * s.columns, false};
      default:
        break;
    }
    Work work{ExpressionsOf(s), false};
    for (const StmtPtr& child : s.body) {
      const Work inner = WorkOf(*child);
      work.amount += inner.amount;
      work.is_polled |= inner.is_polled;
    }
    return work;
  }

  Work LoopWork(const Stmt& s) {
    Work body = WorkOf(*s.body[0]);
    body.amount += 1;
    if (kernel_.range_end && IsOverResults(s)) return {kUnbounded, body.is_polled};
    const double whole = kLoopWork + MostIterations(s) * body.amount;
    if (tensor::ConstantExtent(s)) {
      if (whole <= kMostUnpolled || s.loop == tensor::LoopKind::kUnrolled) return {whole, body.is_polled};
    } else if (whole <= kMostCountedLess) {
      return {std::min(whole, std::max<double>(kShortWork, whole / kCountedLess)), body.is_polled};
    }
    const auto work = static_cast<int64_t>(body.amount < kMostUnpolled ? body.amount : kMostUnpolled);
    PollPoint point;
    point.work = std::max<int64_t>(1, work / kInstructionsPerStep);
    if (!body.is_polled) {
      point.iterations = std::max<int64_t>(1, kWorkBetweenPolls * kInstructionsPerStep / work);
      point.short_iterations = kShortWork / work;
    }
    points_.emplace(&s, point);
    return {kLoopWork + static_cast<double>(point.short_iterations * work), true};
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
    for (const Expr* e : {&s.value, &s.index, &s.mask})
      if (e->valid()) work += ExpressionWork(*e);
    return work;
  }

  // An instruction for each node, but for what is slow.
  double ExpressionWork(const Expr& e) {
    if (!seen_.insert(e.get()).second) return 0;
    double work = 1;
    if (e.op() == ExprOp::kLoad) {
      bool is_scattered = false;
      tensor::VisitOnce(e->operands[0],
                        [&](const Expr& part) { is_scattered |= part.op() == ExprOp::kLoad; });
      work = is_scattered ? kScatteredLoad * e.lanes() : 1;
    } else if (e.op() == ExprOp::kDiv || e.op() == ExprOp::kFloorDiv || e.op() == ExprOp::kFloorMod ||
               e.op() == ExprOp::kRemainder) {
      work = kDivision;
    }
    for (const Expr& operand : e->operands)
      if (operand.valid()) work += ExpressionWork(operand);
    return work;
  }

  double MostIterations(const Stmt& loop) const {
    if (auto extent = tensor::ConstantExtent(loop)) return static_cast<double>(std::max<int64_t>(0, *extent));
    return MostBetween(loop.begin, loop.end) / static_cast<double>(loop.step->integer);
  }

  // At most so far is `end` from `begin`.
  double MostBetween(const Expr& begin, const Expr& end) const {
    if (tensor::Same(begin, end)) return 0;
    switch (end.op()) {
      case ExprOp::kMin:
        return std::min(MostBetween(begin, end->operands[0]), MostBetween(begin, end->operands[1]));
      case ExprOp::kMax:
        return std::max(MostBetween(begin, end->operands[0]), MostBetween(begin, end->operands[1]));
      case ExprOp::kAdd:
        for (int i : {0, 1})
          if (tensor::Same(begin, end->operands[i])) return Most(end->operands[1 - i]);
        break;
      case ExprOp::kSub:  // rounded down
        if (end->operands[1].op() == ExprOp::kFloorMod) return MostBetween(begin, end->operands[0]);
        break;
      case ExprOp::kVariable:
        if (auto let = lets_.find(end->id); let != lets_.end()) return MostBetween(begin, let->second);
        break;
      default:
        break;
    }
    // Loops begin at 0 or above it, or a window's width below.
    return Most(end) - (begin.op() == ExprOp::kConstant ? static_cast<double>(begin->integer) : 0);
  }

  double Most(const Expr& e) const {
    switch (e.op()) {
      case ExprOp::kConstant:
        return static_cast<double>(e->integer);
      case ExprOp::kDim:
        return static_cast<double>(ir::RangeOf(e->dim).high);
      case ExprOp::kMin:
        return std::min(Most(e->operands[0]), Most(e->operands[1]));
      case ExprOp::kMax:
        return std::max(Most(e->operands[0]), Most(e->operands[1]));
      case ExprOp::kAdd:
        return Most(e->operands[0]) + Most(e->operands[1]);
      case ExprOp::kSub:
        return e->operands[1].op() == ExprOp::kFloorMod ? Most(e->operands[0])
                                                        : MostBetween(e->operands[1], e->operands[0]);
      case ExprOp::kMul:
        return Constant(e->operands[1]) * Most(e->operands[0]);
      case ExprOp::kFloorDiv:
        return Most(e->operands[0]) / Constant(e->operands[1]);
      case ExprOp::kSelect:
        return std::max(Most(e->operands[1]), Most(e->operands[2]));
      case ExprOp::kFloorMod:
        return Constant(e->operands[1]);
      case ExprOp::kVariable:
        if (auto let = lets_.find(e->id); let != lets_.end()) return Most(let->second);
        return kUnbounded;
      default:
        return kUnbounded;
    }
  }

  const tensor::LoopKernel& kernel_;
  // A constant above 0; else no bound.
  static double Constant(const Expr& e) {
    return e.op() == ExprOp::kConstant && e->integer > 0 ? static_cast<double>(e->integer) : kUnbounded;
  }

  PollPoints points_;
  std::unordered_map<tensor::VariableId, Expr> lets_;
  std::unordered_set<const tensor::ExprNode*> seen_;  // of the current statement
};

}  // namespace

PollPoints FindPollPoints(const tensor::LoopKernel& kernel) { return Finder(kernel).points(); }

}  // namespace tvmvm::codegen
