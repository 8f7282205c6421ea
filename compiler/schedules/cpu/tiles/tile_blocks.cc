#include "compiler/schedules/cpu/tiles/tile_blocks.h"

#include "compiler/loops/loop_blocks.h"

namespace tvmvm::tensor {

using ir::Dim;
using ir::Dims;

void StoreTileBlocks(Nest& nest, const TileBlock& block, const TransposedTiles& tiles,
                     std::span<const OutputAxis> others, std::span<const Expr> roots,
                     std::span<const Expr> places, std::span<const uint32_t> stores,
                     const TargetInfo& target) {
  // Where one axis has few elements, so many more of the other one.
  const Dim side(block.side), elements(block.elements);
  const auto beside = [&](const Dim& other) {
    return side * Max(FloorDiv(side, Max(other, Dim(1))), Dim(1));
  };
  const Dim along_block = tiles.interleaves ? tiles.along_extent : beside(tiles.across_extent);
  const Dim across_block =
      tiles.interleaves ? FloorDiv(elements, tiles.along_extent) : beside(tiles.along_extent);
  const Dim taken = Min(tiles.along_extent, along_block) * Min(tiles.across_extent, across_block);
  const Dim outer_block = Max(FloorDiv(elements, Max(taken, Dim(1))), Dim(1));
  Dims extents;
  for (const OutputAxis& axis : others) extents.push_back(axis.second);
  const Range along = BlockOf(nest, 0, "along", tiles.along_extent, along_block);
  const Range across = BlockOf(nest, 1, "across", tiles.across_extent, across_block);
  const Range outer = BlockOf(nest, 2, "outer", Product(extents), outer_block);
  std::vector<std::pair<VariableId, Expr>> bound;
  if (!others.empty()) {
    const Expr position = Variable(nest.Open("outer", outer.begin, outer.end));
    const std::vector<Expr> index = BindCoordinates(nest, extents, position);
    for (size_t i = 0; i < others.size(); ++i) bound.emplace_back(others[i].first, index[i]);
  }
  const TilePart part{along.begin, along.end, across.begin, across.end};
  StoreTransposedTiles(nest, tiles, part, roots, places, stores, bound, target);
}

}  // namespace tvmvm::tensor
