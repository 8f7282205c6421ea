#include "compiler/schedules/cpu/tiles/launch_axes.h"

#include <algorithm>
#include <functional>
#include <set>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/loops/lanes.h"

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

bool Moves(const Expr& place, std::span<const OutputAxis> axes) {
  return std::ranges::any_of(axes, [&](const OutputAxis& axis) { return DependsOn(place, axis.first); });
}

// Those of the loads that move, each once; nothing where something else depends on the axes.
class StepsRead {
 public:
  StepsRead(std::span<const Expr> roots, std::span<const OutputAxis> axes) : axes_(axes) {
    for (const Expr& root : roots) Visit(root);
  }
  std::optional<std::vector<Dims>> Steps() const { return are_known_ ? std::optional(steps_) : std::nullopt; }

 private:
  void Visit(const Expr& e) {
    if (!seen_.insert(e.get()).second) return;
    if (e.op() == ExprOp::kLoad) return VisitLoad(e);
    are_known_ &= e.op() != ExprOp::kReduce && !(e.op() == ExprOp::kVariable && Moves(e, axes_));
    for (const Expr& operand : e->operands) Visit(operand);
  }
  void VisitLoad(const Expr& load) {
    const std::optional<Dims> steps =
        load->operands.size() == 1 ? StepsOf(load->operands[0], axes_) : std::nullopt;
    are_known_ &= steps.has_value();
    if (!steps || !Moves(load, axes_)) return;
    if (std::ranges::find(steps_, *steps) == steps_.end()) steps_.push_back(*steps);
  }

  std::span<const OutputAxis> axes_;
  std::set<const ExprNode*> seen_;
  std::vector<Dims> steps_;
  bool are_known_ = true;
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

LaunchRows RowsOf(const std::vector<Dims>& read, const Dims& written, std::span<const OutputAxis> axes) {
  LaunchRows made{1, Dims(axes.size())};
  Dim is_row = 1;
  for (size_t axis = axes.size(); axis-- > 0;) {
    const Dim& extent = axes[axis].second;
    Dim is_same = 1;
    for (const Dims& steps : read) is_same = And(is_same, Equal(steps[axis], written[axis]));
    made.row = made.row * Select(And(is_row, is_same), extent, 1);
    is_row = And(is_row, Or(Equal(extent, 1), is_same));
    made.outside[axis] = Select(is_row, 1, extent);
  }
  return made;
}

// The same where the last axis has one element.
LaunchRows RowsBeforeLast(std::vector<Dims> read, Dims written, std::span<const OutputAxis> axes) {
  const Dim& last = axes.back().second;
  const auto take_one = [&](Dim* dim) {
    *dim = ir::Substitute(*dim, [&](const ir::SymbolId& symbol) {
      return last == Dim::Symbol(symbol) ? std::optional<Dim>(1) : std::nullopt;
    });
  };
  std::vector<OutputAxis> others(axes.begin(), axes.end());
  for (OutputAxis& axis : others) take_one(&axis.second);
  for (Dim& step : written) take_one(&step);
  for (Dims& steps : read) std::ranges::for_each(steps, [&](Dim& step) { take_one(&step); });
  return RowsOf(read, written, others);
}

LaunchTiles TilesOf(const std::vector<size_t>& read_order, const std::vector<size_t>& written_order,
                    const Dims& read, const Dims& written, std::span<const OutputAxis> axes) {
  LaunchTiles made;
  const Innermost first_read(read_order, axes), first_written(written_order, axes);
  const auto extent = [&](size_t axis) { return axes[axis].second; };
  made.along = first_written.Of(extent);
  made.across = first_read.Of(extent);
  made.along_step = first_written.Of([&](size_t axis) { return read[axis]; });
  made.across_step = first_read.Of([&](size_t axis) { return written[axis]; });
  for (size_t axis = 0; axis < axes.size(); ++axis)
    made.outside.push_back(Select(Or(first_written.Has(axis), first_read.Has(axis)), 1, extent(axis)));
  return made;
}

// The roots with so much added to where they read what the axes move.
std::vector<Expr> ReadBehind(std::span<const Expr> roots, std::span<const OutputAxis> axes,
                             const Expr& offset) {
  Rewriter rewrite([&](const Expr& e) {
    return e.op() == ExprOp::kLoad && Moves(e, axes) ? Load(e->id, e.dtype(), e->operands[0] + offset) : e;
  });
  std::vector<Expr> moved;
  for (const Expr& root : roots) moved.push_back(rewrite(root));
  return moved;
}

}  // namespace

std::optional<LaunchAxes> FindLaunchAxes(std::span<const Expr> roots, const Expr& place,
                                         std::span<const OutputAxis> axes) {
  if (axes.size() < 2) return std::nullopt;
  const std::optional<std::vector<Dims>> read = StepsRead(roots, axes).Steps();
  const std::optional<Dims> written = StepsOf(place, axes);
  if (!read || read->empty() || !written) return std::nullopt;
  std::vector<size_t> written_order;
  for (size_t axis = axes.size(); axis-- > 0;) written_order.push_back(axis);
  const std::optional<std::vector<size_t>> order =
      read->size() == 1 && AreTurnable(roots) ? OrderOf(read->front(), axes) : std::nullopt;
  const std::optional<TransposedTiles> known = FindTransposedTiles(roots, place, axes);
  if (known && known->interleaves) return std::nullopt;  // faster, and as good for a single element
  const Dim& last = axes.back().second;
  if (!MayBeOne(last) && !(order && MayBeOne(axes[order->front()].second))) return std::nullopt;
  LaunchAxes made;
  if (order && *order != written_order) {
    const Dim& step = read->front().back();
    const bool is_short = step.is_constant() && step.value() > 1 && step.value() <= kMaxShortStep;
    if (is_short) return std::nullopt;  // wide loads, whatever the sizes
    made.rows = RowsOf(*read, *written, axes);
    made.has_rows = LessEqual(2, made.rows.row);
    made.tiles = TilesOf(*order, written_order, read->front(), *written, axes);
    return made;
  }
  made.rows = RowsBeforeLast(*read, *written, axes);
  made.has_rows = And(Equal(last, 1), LessEqual(2, made.rows.row));
  return made.has_rows.IsConstant(0) ? std::nullopt : std::optional(made);
}

std::vector<Expr> AtRows(std::span<const Expr> roots, std::span<const OutputAxis> axes, const Expr& place,
                         VariableId within, const Expr& stored) {
  const Expr moved = place + Variable(within);
  const std::pair<VariableId, Expr> first(axes.back().first, IntConstant(0));
  Rewriter rewrite([&](const Expr& e) { return Same(e, moved) ? stored : e; });
  std::vector<Expr> made = ReadBehind(roots, axes, Variable(within));
  for (Expr& root : made) root = Substitute(rewrite(root), std::span(&first, 1));
  return made;
}

TransposedTiles TilesOver(const LaunchTiles& chosen, std::span<const Expr> roots,
                          std::span<const OutputAxis> axes, VariableId along, VariableId across,
                          Expr* place) {
  const Expr row = Variable(along), column = Variable(across);
  TransposedTiles tiles;
  tiles.along = along;
  tiles.across = across;
  tiles.along_extent = chosen.along;
  tiles.across_extent = chosen.across;
  tiles.turns_all = true;
  tiles.turned = ReadBehind(roots, axes, row * DimValue(chosen.along_step) + column);
  *place = *place + row + column * DimValue(chosen.across_step);
  return tiles;
}

}  // namespace tvmvm::tensor
