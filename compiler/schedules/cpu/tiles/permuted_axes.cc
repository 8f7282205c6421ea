#include "compiler/schedules/cpu/tiles/permuted_axes.h"

#include <algorithm>
#include <functional>
#include <set>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;

// What a place moves by along each of the axes.
std::optional<Dims> StepsOf(const Expr& place, std::span<const OutputAxis> axes) {
  Dims steps;
  for (const OutputAxis& axis : axes) {
    const std::optional<Dim> step = Coefficient(place, axis.first);
    if (!step) return std::nullopt;
    steps.push_back(*step);
  }
  return steps;
}

// Those of all loads, if they are the same, and nothing else depends on the axes.
class StepsRead {
 public:
  StepsRead(std::span<const Expr> roots, std::span<const OutputAxis> axes) : axes_(axes) {
    for (const Expr& root : roots) Visit(root);
  }
  std::optional<Dims> Steps() const { return are_same_ ? steps_ : std::nullopt; }

 private:
  void Visit(const Expr& e) {
    if (!seen_.insert(e.get()).second) return;
    if (e.op() == ExprOp::kLoad) return VisitLoad(e);
    if (e.op() == ExprOp::kVariable)
      are_same_ &= std::ranges::none_of(axes_, [&](const OutputAxis& axis) { return axis.first == e->id; });
    for (const Expr& operand : e->operands) Visit(operand);
  }
  void VisitLoad(const Expr& load) {
    const std::optional<Dims> steps =
        load->operands.size() == 1 ? StepsOf(load->operands[0], axes_) : std::nullopt;
    are_same_ &= steps && (!steps_ || *steps_ == *steps);
    steps_ = steps;
  }

  std::span<const OutputAxis> axes_;
  std::set<const ExprNode*> seen_;
  std::optional<Dims> steps_;
  bool are_same_ = true;
};

// The axes as they are read, innermost first: each moves by the elements of all before it.
std::optional<std::vector<size_t>> OrderOf(const Dims& steps, std::span<const OutputAxis> axes) {
  std::vector<size_t> order;
  for (Dim step = 1; order.size() < axes.size(); step = step * axes[order.back()].second) {
    const auto found = std::ranges::find(steps, step);
    const auto axis = static_cast<size_t>(found - steps.begin());
    if (found == steps.end() || std::ranges::find(order, axis) != order.end()) return std::nullopt;
    order.push_back(axis);
  }
  return order;
}

bool MayBeOne(const Dim& extent) { return !extent.is_constant() && ir::DivisorOf(extent) == 1; }

// The first of the axes in that order with more than one element, the last one where none has.
class Innermost {
 public:
  Innermost(const std::vector<size_t>& order, std::span<const OutputAxis> axes)
      : order_(order), axes_(axes) {}

  Dim Of(const std::function<Dim(size_t)>& what) const {
    Dim chosen = what(order_.back());
    for (size_t k = order_.size() - 1; k-- > 0;)
      chosen = Select(Equal(axes_[order_[k]].second, 1), chosen, what(order_[k]));
    return chosen;
  }
  // Whether that axis is it, or has one element.
  Dim Has(size_t axis) const {
    Dim has = 1;
    for (size_t k = 0; order_[k] != axis; ++k) has = And(has, Equal(axes_[order_[k]].second, 1));
    return has;
  }

 private:
  const std::vector<size_t>& order_;
  std::span<const OutputAxis> axes_;
};

}  // namespace

std::optional<PermutedAxes> FindPermutedAxes(std::span<const Expr> roots, const Expr& place,
                                             std::span<const OutputAxis> axes) {
  if (axes.size() < 2 || !AreTurnable(roots)) return std::nullopt;
  const std::optional<Dims> from = StepsRead(roots, axes).Steps(), to = StepsOf(place, axes);
  const std::optional<std::vector<size_t>> read = from ? OrderOf(*from, axes) : std::nullopt;
  if (!read || !to) return std::nullopt;
  std::vector<size_t> written;
  for (size_t axis = axes.size(); axis-- > 0;) written.push_back(axis);
  if (*read == written) return std::nullopt;
  if (!MayBeOne(axes[read->front()].second) && !MayBeOne(axes[written.front()].second)) return std::nullopt;

  PermutedAxes made;
  const Innermost first_read(*read, axes), first_written(written, axes);
  const auto extent = [&](size_t axis) { return axes[axis].second; };
  made.along = first_written.Of(extent);
  made.across = first_read.Of(extent);
  made.along_step = first_written.Of([&](size_t axis) { return (*from)[axis]; });
  made.across_step = first_read.Of([&](size_t axis) { return (*to)[axis]; });
  made.row = 1;
  Dim is_row = 1;
  for (size_t axis : written) {
    is_row = And(is_row, Or(Equal(extent(axis), 1), Equal((*from)[axis], (*to)[axis])));
    made.row = made.row * Select(is_row, extent(axis), 1);
    made.outside_row.insert(made.outside_row.begin(), Select(is_row, 1, extent(axis)));
    made.outside_tile.insert(made.outside_tile.begin(),
                             Select(Or(first_written.Has(axis), first_read.Has(axis)), 1, extent(axis)));
  }
  return made;
}

std::vector<Expr> ReadBehind(std::span<const Expr> roots, const Expr& offset) {
  Rewriter rewrite([&](const Expr& e) {
    return e.op() == ExprOp::kLoad ? Load(e->id, e.dtype(), e->operands[0] + offset) : e;
  });
  std::vector<Expr> moved;
  for (const Expr& root : roots) moved.push_back(rewrite(root));
  return moved;
}

}  // namespace tvmvm::tensor
