// Pulls that read along another axis than they write: tiles of the two axes, each read, turned in registers
// and written in whole vectors.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/loops/nest.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

// What is turned, for an output whose innermost axis is `along` and whose elements are consecutive in memory
// along `across` where they come from.
struct TransposedTiles {
  VariableId along = 0, across = 0;
  ir::Dim along_extent, across_extent;
  std::vector<Expr> turned;  // loads, or whole elements, to read along `across`
  bool turns_all = false;    // whole elements: nothing is read but what is turned
  bool interleaves = false;  // rows of the output shorter than a register, one behind the other
};

// An axis of the output that has more than one element: its variable, its extent.
using OutputAxis = std::pair<VariableId, ir::Dim>;

// Whether registers can turn what the elements are made of.
bool AreTurnable(std::span<const Expr> roots);

// Tiles for elements over the axes, innermost last; `place`: where they are stored. Nothing where vectors
// along the innermost axis need no gathers, or no other axis serves better. The same at every level.
std::optional<TransposedTiles> FindTransposedTiles(std::span<const Expr> roots, const Expr& place,
                                                   std::span<const OutputAxis> axes);

// Stores the part [along_begin, along_end) x [across_begin, across_end) of the outputs, in the innermost
// scope. What `bound` names is replaced first.
struct TilePart {
  Expr along_begin, along_end, across_begin, across_end;
  // It may end within a tile that the extents have all of.
  bool ends_anywhere = false;
};
void StoreTransposedTiles(Nest& nest, const TransposedTiles& tiles, const TilePart& part,
                          std::span<const Expr> roots, std::span<const Expr> places,
                          std::span<const uint32_t> stores,
                          std::span<const std::pair<VariableId, Expr>> bound, const TargetInfo& target);

}  // namespace tvmvm::tensor
