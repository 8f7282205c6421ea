// Pulls that read everything in one other order of the result's axes, some of which may have a single
// element: a launch knows which, and takes the others for those that it reads and writes along.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/schedules/cpu/tiles/transposed_tiles.h"

namespace tvmvm::tensor {

// A place of the result, and of what is read, is that of `outer` coordinates plus one within a row or a tile.
struct PermutedAxes {
  // Innermost axes that lie in memory as they are read, all as one.
  ir::Dim row;
  ir::Dims outside_row;  // extents of all axes, 1 of those

  // The innermost axes with more than one element of the result, and of what is read.
  ir::Dim along, across;
  ir::Dims outside_tile;  // extents of all axes, 1 of those
  ir::Dim along_step;     // of what is read along the first one
  ir::Dim across_step;    // of the result along the second one
};

// Nothing where something is read in other ways, or where the innermost axes have more than one element in
// any case. `place`: where an element over the axes is stored. The same at every level.
std::optional<PermutedAxes> FindPermutedAxes(std::span<const Expr> roots, const Expr& place,
                                             std::span<const OutputAxis> axes);

// The roots with so much added to where they are read.
std::vector<Expr> ReadBehind(std::span<const Expr> roots, const Expr& offset);

}  // namespace tvmvm::tensor
