// Grid points of pulls in tiles that are turned: each takes blocks of the two axes, and some of the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/schedules/cpu/tiles/transposed_tiles.h"

namespace tvmvm::tensor {

// What a grid point takes: so many elements of each of the two axes, so many in all.
struct TileBlock {
  int64_t side = 0, elements = 0;
};

// Stores all of the outputs, `roots` at `places`; `others`: the axes beside the two of the tiles.
void StoreTileBlocks(Nest& nest, const TileBlock& block, const TransposedTiles& tiles,
                     std::span<const OutputAxis> others, std::span<const Expr> roots,
                     std::span<const Expr> places, std::span<const uint32_t> stores,
                     const TargetInfo& target);

}  // namespace tvmvm::tensor
