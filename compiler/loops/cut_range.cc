#include "compiler/loops/cut_range.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;

constexpr size_t kMaxPieces = 8;

// step * i + k for a variable i, where low <= k <= high, whatever the axes of reductions are.
struct Line {
  int64_t step = 0;
  Dim low, high;
  // What the expression is where it is at least 0, and where it is less.
  Expr then, otherwise;
};

bool IsAlways(const Dim& dim) { return ir::RangeOf(dim).low >= 0; }

class Cutter {
 public:
  Cutter(VariableId variable, const std::vector<Expr>& roots) : variable_(variable) {
    for (const Expr& root : roots) {
      VisitOnce(root, [this](const Expr& e) {
        if (e.op() != ExprOp::kReduce) return;
        for (size_t i = 0; i < e->reduction->axes.size(); ++i)
          if (auto extent = AsDim(e->reduction->extents[i])) extents_[e->reduction->axes[i]] = *extent;
      });
    }
  }

  // `facts`: (step, k) for which step * i + k >= 0 in this piece.
  using Facts = std::vector<std::pair<int64_t, Dim>>;
  void Cut(Nest& nest, const Range& range, const std::vector<Expr>& given, const Facts& facts) {
    std::vector<Expr> roots = Simplified(given, facts);
    std::optional<Line> line = FindLine(roots);
    if (!line || pieces_.size() + pending_ >= kMaxPieces) {
      pieces_.push_back({range, std::move(roots)});
      return;
    }
    const bool rises = line->step > 0;
    const Expr cut = nest.Let("cut", Max(range.begin, Min(range.end, DimValue(PlaceOf(*line)))));
    Facts inside = facts, outside = facts;
    inside.emplace_back(line->step, line->low);
    outside.emplace_back(-line->step, Dim(-1) - line->high);
    const bool is_sharp = line->low == line->high;
    ++pending_;
    auto add = [&](const Range& part, bool is_inside) {
      if (is_inside) return Cut(nest, part, roots, inside);
      if (is_sharp) return Cut(nest, part, roots, outside);
      pieces_.push_back({part, roots, true});
    };
    add({range.begin, cut}, !rises);
    --pending_;
    add({cut, range.end}, rises);
  }

  Inside WhereAllHold(std::vector<Expr> roots, const Dim& extent) const {
    Inside inside{.begin = 0, .end = extent};
    Facts facts = FactsOf(extent);
    for (size_t count = 0; count < kMaxPieces; ++count) {
      roots = Simplified(std::move(roots), facts);
      std::optional<Line> line = FindLine(roots);
      if (!line) break;
      facts.emplace_back(line->step, line->low);
      if (line->step > 0)
        inside.begin = Max(inside.begin, PlaceOf(*line));
      else
        inside.end = Min(inside.end, PlaceOf(*line));
    }
    inside.roots = std::move(roots);
    return inside;
  }

  std::vector<Expr> Masked(std::vector<Expr> roots) const {
    Rewriter rewrite([this](const Expr& e) {
      if (e.op() != ExprOp::kSelect || e.lanes() != 1) return e;
      std::vector<Exact> facts;
      Expr mask = BoolConstant(true);
      AddFacts(e->operands[0], &facts, &mask);
      if (facts.empty()) return e;
      return Select(e->operands[0], MaskedBy(e->operands[1], facts, mask), e->operands[2]);
    });
    for (Expr& root : roots) root = rewrite(root);
    return roots;
  }

  static Facts FactsOf(const Dim& extent) { return {{1, Dim(0)}, {-1, extent - 1}}; }

  std::vector<Piece> Take() { return std::move(pieces_); }

 private:
  // From here on (or up to here, where the line falls) it is at least 0, whatever the axes of reductions are.
  static Dim PlaceOf(const Line& line) {
    const Dim slope(std::abs(line.step));
    return line.step > 0 ? CeilDiv(Dim(0) - line.low, slope) : FloorDiv(line.low, slope) + 1;
  }

  // A sum of variables, each times a number, and a dim.
  struct Exact {
    std::map<VariableId, int64_t> slopes;
    Dim rest;
    Expr then, otherwise;  // as in Line
  };

  // What decides a comparison, a minimum or a maximum. Of the latter two the operand that changes along the
  // loop is the one that stands where the sum is at least 0.
  std::optional<Exact> ExactOf(const Expr& e) const {
    if (e->operands.size() != 2 || e.lanes() != 1 || e->operands[0].dtype() != DType::kI64)
      return std::nullopt;
    const Expr &a = e->operands[0], &b = e->operands[1];
    const bool is_order = e.op() == ExprOp::kMin || e.op() == ExprOp::kMax;
    if (!is_order && e.op() != ExprOp::kLess && e.op() != ExprOp::kLessEqual) return std::nullopt;
    const bool keeps_second = is_order && DependsOn(b, variable_);
    const Expr difference = (e.op() == ExprOp::kMax) != keeps_second ? a - b : b - a;
    Exact exact;
    exact.then = is_order ? (keeps_second ? b : a) : BoolConstant(true);
    exact.otherwise = is_order ? (keeps_second ? a : b) : BoolConstant(false);
    std::vector<std::pair<VariableId, Expr>> zeros;
    auto add = [&](VariableId variable) {
      if (variable != variable_ && !DependsOn(difference, variable)) return true;
      auto slope = Coefficient(difference, variable);
      if (!slope || !slope->is_constant()) return false;
      if (slope->value() != 0) exact.slopes[variable] = slope->value();
      zeros.emplace_back(variable, IntConstant(0));
      return true;
    };
    if (!add(variable_)) return std::nullopt;
    for (const auto& [axis, extent] : extents_)
      if (!add(axis)) return std::nullopt;
    std::optional<Dim> rest = AsDim(Substitute(difference, zeros));
    if (!rest) return std::nullopt;
    exact.rest = e.op() == ExprOp::kLess ? *rest - 1 : *rest;
    return exact;
  }

  std::optional<Line> LineOf(const Expr& e) const {
    std::optional<Exact> exact = ExactOf(e);
    if (!exact) return std::nullopt;
    Line line{.low = exact->rest, .high = exact->rest, .then = exact->then, .otherwise = exact->otherwise};
    for (const auto& [variable, slope] : exact->slopes) {
      if (variable == variable_) {
        line.step = slope;
        continue;
      }
      Dim& reached = slope < 0 ? line.low : line.high;
      reached = reached + Dim(slope) * (extents_.at(variable) - 1);
    }
    return line;
  }

  // What holds under a condition along the loop, and the part of the condition that says so.
  void AddFacts(const Expr& condition, std::vector<Exact>* facts, Expr* mask) const {
    if (condition.op() == ExprOp::kAnd) {
      for (const Expr& part : condition->operands) AddFacts(part, facts, mask);
      return;
    }
    std::optional<Exact> exact = ExactOf(condition);
    if (!exact || !exact->slopes.count(variable_)) return;
    facts->push_back(std::move(*exact));
    *mask = And(*mask, condition);
  }

  Expr MaskedBy(const Expr& root, const std::vector<Exact>& facts, const Expr& mask) const {
    Rewriter rewrite([&](const Expr& e) {
      if (e.op() == ExprOp::kLoad && DependsOn(e->operands[0], variable_)) {
        const Expr all = e->operands.size() > 1 ? And(e->operands[1], mask) : mask;
        return Load(e->id, e.dtype(), e->operands[0], all);
      }
      std::optional<Exact> exact = ExactOf(e);
      const bool follows = exact && std::any_of(facts.begin(), facts.end(), [&](const Exact& fact) {
                             return fact.slopes == exact->slopes && IsAlways(exact->rest - fact.rest);
                           });
      return follows ? exact->then : e;
    });
    return rewrite(root);
  }

  static bool Follows(int64_t step, const Dim& k, const Facts& facts) {
    if (step == 0) return IsAlways(k);
    for (const auto& [fact_step, fact_k] : facts) {
      const int64_t times = step / fact_step;
      if (times >= 1 && times * fact_step == step && IsAlways(k - fact_k * Dim(times))) return true;
    }
    return false;
  }

  std::vector<Expr> Simplified(std::vector<Expr> roots, const Facts& facts) const {
    Rewriter rewrite([&](const Expr& e) {
      std::optional<Line> line = LineOf(e);
      if (!line) return e;
      if (Follows(line->step, line->low, facts)) return line->then;
      // Of two equal operands either may stand.
      const Dim least(line->then.dtype() == DType::kBool ? -1 : 0);
      return Follows(-line->step, least - line->high, facts) ? line->otherwise : e;
    });
    for (Expr& root : roots) root = rewrite(root);
    return roots;
  }

  // A comparison, within the index of a load, that changes along the loop.
  std::optional<Line> FindLine(const std::vector<Expr>& roots) const {
    std::optional<Line> found;
    for (const Expr& root : roots) {
      VisitOnce(root, [&](const Expr& load) {
        if (found || load.op() != ExprOp::kLoad) return;
        VisitOnce(load->operands[0], [&](const Expr& e) {
          if (found) return;
          std::optional<Line> line = LineOf(e);
          if (line && line->step != 0) found = line;
        });
      });
    }
    return found;
  }

  VariableId variable_;
  std::map<VariableId, Dim> extents_;  // of the axes of reductions
  std::vector<Piece> pieces_;
  size_t pending_ = 0;  // pieces that will follow at least
};

}  // namespace

std::vector<Piece> CutRange(Nest& nest, VariableId variable, const Range& range, const Dim& extent,
                            std::vector<Expr> roots) {
  Cutter cutter(variable, roots);
  cutter.Cut(nest, range, roots, Cutter::FactsOf(extent));
  return cutter.Take();
}

Inside InsideOf(VariableId variable, const Dim& extent, std::vector<Expr> roots) {
  Cutter cutter(variable, roots);
  return cutter.WhereAllHold(std::move(roots), extent);
}

std::vector<Expr> MaskedAtEdges(VariableId variable, std::vector<Expr> roots) {
  Cutter cutter(variable, roots);
  return cutter.Masked(std::move(roots));
}

}  // namespace tvmvm::tensor
