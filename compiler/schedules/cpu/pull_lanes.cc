#include "compiler/schedules/cpu/pull_lanes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/loops/cut_range.h"
#include "compiler/loops/lower_reductions.h"
#include "compiler/schedules/cpu/tiles/launch_choices.h"

namespace tvmvm::tensor {

using ir::Dim;

PullLanes ChoosePullLanes(std::span<const Expr> roots, VariableId inner, const Dim& extent,
                          const PullsSchedule& schedule) {
  PullLanes chosen;
  const bool has_vectors = schedule.lanes > 1;
  int across = 0, along = 0;
  ir::Dims rows;              // what vectors along the reduced axes have to go along
  bool may_be_turned = true;  // the same at every level
  for (const Expr& root : InsideOf(inner, extent, {roots.begin(), roots.end()}).roots) {
    VisitOnce(root, [&](const Expr& e) {
      if (e.op() != ExprOp::kReduce || e->reduction->axes.empty() || !DependsOn(e, inner)) return;
      chosen.has_inner_reduction = has_vectors;
      const Expr& steps = e->reduction->extents[InnermostAxis(e)];
      const std::optional<Dim> row = AsDim(steps);
      may_be_turned &= row.has_value() && !IsShort(*e->reduction);
      if (IsShort(*e->reduction) && !(IsConstant(steps) && steps->integer % schedule.lanes == 0)) return;
      chosen.has_long_reduction = has_vectors;
      rows.push_back(row.value_or(0));
      across += GatheredLoads(e->operands[0], inner);
      along += GatheredLoads(e->operands[0], e->reduction->axes[InnermostAxis(e)]);
    });
  }
  chosen.run_along_results = along >= across;
  const int64_t most = chosen.run_along_results ? schedule.few_rows : schedule.short_row;
  if (may_be_turned && !rows.empty())
    chosen.suits_turned = AreBetterTurned(extent, rows, chosen.run_along_results, most);
  return chosen;
}

int LanesWithin(const Dim& extent, int most) {
  if (!extent.is_constant()) return most;
  int lanes = 1;
  while (lanes * 2 <= std::min<int64_t>(extent.value(), most)) lanes *= 2;
  return lanes;
}

bool FindsPlaces(std::span<const Expr> roots) {
  bool finds = false;
  for (const Expr& root : roots)
    VisitOnce(root, [&](const Expr& e) {
      finds |= e.op() == ExprOp::kReduce &&
               (e->reduction->kind == ReduceKind::kArgMin || e->reduction->kind == ReduceKind::kArgMax);
    });
  return finds;
}

bool GatherTogether(std::span<const Expr> roots, VariableId row, VariableId inner) {
  bool is_shared = false;
  for (const Expr& root : roots)
    VisitOnce(root, [&](const Expr& load) {
      if (load.op() != ExprOp::kLoad || !DependsOn(load, row)) return;
      VisitOnce(load->operands[0], [&](const Expr& part) {
        is_shared |= part.op() == ExprOp::kLoad && DependsOn(part, inner) && !DependsOn(part, row);
      });
    });
  return is_shared;
}

}  // namespace tvmvm::tensor
