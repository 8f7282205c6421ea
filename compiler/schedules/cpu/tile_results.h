// What becomes of the sums of a register tile: they are handed to the product's epilogue a row of a panel at
// a time, or kept until all parts of the depth were added.
#pragma once

#include <functional>

#include "compiler/schedules/cpu/matrix_product.h"

namespace tvmvm::tensor {

// Hands the tile in local buffer `tile` to product.store. `all_exist`: of the columns of every tile.
Status StoreResults(const MatrixProduct& product, const TileAt& at, uint32_t tile, bool all_exist,
                    Nest& nest);

// Whether all elements of the tile are results, which go out of registers to where they belong. Such a tile
// has `least_rows` rows at least.
Expr IsStoredDirectly(const MatrixProduct& product, const TileAt& at, bool all_exist, int64_t least_rows);

// The sums of a tile of so many rows.
struct TileSums {
  uint32_t registers = 0;
  int rows = 1, lanes = 1;
  Expr is_direct;  // as IsStoredDirectly says
};
// Hands them to product.store, or writes them to the tile in local buffer `tile`.
Status StoreSums(const MatrixProduct& product, const TileAt& at, const TileSums& sums, uint32_t tile,
                 Nest& nest);

// Adds what `body` adds, to be done where the condition holds: nothing where it is known not to.
Status When(const Expr& condition, Nest& nest, const std::function<Status()>& body);

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
