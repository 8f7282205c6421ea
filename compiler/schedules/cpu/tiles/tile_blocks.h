// Grid points of pulls in tiles that are turned: each takes blocks of the two axes, and some of the others.
#pragma once

#include <span>
#include <vector>

#include "compiler/schedules/cpu/cpu_schedules.h"
#include "compiler/schedules/cpu/tiles/transposed_tiles.h"

namespace tvmvm::tensor {

// Stores all of the outputs, `roots` at `places`; `others`: the axes beside the two of the tiles.
void StoreTileBlocks(Nest& nest, const PullsSchedule& schedule, const TransposedTiles& tiles,
                     std::span<const OutputAxis> others, std::span<const Expr> roots,
                     std::span<const Expr> places, std::span<const uint32_t> stores,
                     const TargetInfo& target);

}  // namespace tvmvm::tensor
