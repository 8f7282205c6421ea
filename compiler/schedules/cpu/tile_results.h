// What becomes of the sums of a register tile: they are handed to the product's epilogue a row of a panel at
// a time, or kept until all parts of the depth were added.
#pragma once

#include "compiler/schedules/cpu/matrix_product.h"

namespace tvmvm::tensor {

// Hands the tile in local buffer `tile` to product.store. `all_exist`: of the columns of every tile.
Status StoreResults(const MatrixProduct& product, const TileAt& at, uint32_t tile, bool all_exist,
                    Nest& nest);

// Where a part of the depth was summed: `sums` holds what the parts before it gave, an element for each row
// and column from `first_row` and `first_column` on, `width` columns a row.
struct SumsOfParts {
  Range part;
  uint32_t sums = 0;
  Expr first_row, first_column;
  int64_t width = 0;
};
// Adds the sums to the tile's and hands them on where the part is the last one, else keeps them.
Status StorePart(const MatrixProduct& product, const SumsOfParts& parts, const TileAt& at, uint32_t tile,
                 Nest& nest);

}  // namespace tvmvm::tensor
