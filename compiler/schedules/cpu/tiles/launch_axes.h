// Axes that a launch chooses: of pulls whose axes may have a single element, which is known only then, it
// takes others for those that are written and read along.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/schedules/cpu/tiles/transposed_tiles.h"

namespace tvmvm::tensor {

// Innermost axes that everything which is read has in the result's order, those of one element aside: all as
// one. A place of the result, and of what is read, is that of coordinates outside of it plus one within it.
struct LaunchRows {
  ir::Dim row;
  ir::Dims outside;  // extents of all axes, 1 of those that belong to it
};

// The innermost axes with more than one element of the result, and of what is read, which has all of the axes
// in one other order.
struct LaunchTiles {
  ir::Dim along, across;
  ir::Dims outside;     // extents of all axes, 1 of the two
  ir::Dim along_step;   // of what is read along the first one
  ir::Dim across_step;  // of the result along the second one
};

struct LaunchAxes {
  LaunchRows rows;
  ir::Dim has_rows;                  // it is rows that suit
  std::optional<LaunchTiles> tiles;  // which suit where rows do not
};

// Nothing where something is read in other ways, or where the innermost axes have more than one element in
// any case. `place`: where an element over the axes is stored. The same at every level.
std::optional<LaunchAxes> FindLaunchAxes(std::span<const Expr> roots, const Expr& place,
                                         std::span<const OutputAxis> axes);

// The roots at `within` of a row; what lies where the result does, at `place`, is read at `stored`.
std::vector<Expr> AtRows(std::span<const Expr> roots, std::span<const OutputAxis> axes, const Expr& place,
                         VariableId within, const Expr& stored);
// The tiles, over two variables; `place` becomes where an element of one is stored.
TransposedTiles TilesOver(const LaunchTiles& chosen, std::span<const Expr> roots,
                          std::span<const OutputAxis> axes, VariableId along, VariableId across, Expr* place);

}  // namespace tvmvm::tensor
