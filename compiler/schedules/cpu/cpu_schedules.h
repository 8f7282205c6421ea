// The schedules of CPU kernels as data, a struct for each family. What they say is chosen by the functions
// here, which look at the problem and the target alone; the builders take the structs.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/schedules/schedule_data.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

class GroupView;
struct MatrixProduct;
struct TilePlan;

// A matrix product in blocks and register tiles (matrix_product.h).
struct ProductSchedule {
  int64_t block_rows = 96;  // of a grid point, at most; a multiple of the tiles' heights is best
  // Fewer, but so many at least, where there would be less than so many grid points.
  int64_t least_rows = 24, grid_points = 16;
  // Panels of 16 columns of a grid point: all that there are, or a multiple of 4.
  int64_t block_panels = 4;
  // Steps of the depth whose panels a grid point packs before it goes on with further ones. 0: all.
  int64_t depth_block = 0;
  int64_t tile_rows = 1, tile_panels = 1;  // of a register tile, in blocks of many rows
  // Blocks of few rows take tiles of as many rows: those of at most so many are 4, 3 or 2 panels wide. 0: no
  // such tiles.
  int64_t rows_of_4 = 0, rows_of_3 = 0, rows_of_2 = 0;
  int64_t round_updates = 48;    // of sums, in a round of the loop over the depth
  int64_t round_steps = 4;       // of the depth in a round, at most
  bool has_rows_outside = true;  // rows of tiles are the outer loop of a block, columns of them the inner

  static const ScheduleFamily kFamily;
};
ProductSchedule ChooseProduct(const MatrixProduct& product, const TargetInfo& target);
// Its register tiles.
TilePlan TilesOf(const ProductSchedule& schedule);
// Brings it to what the product allows.
void FitProduct(const MatrixProduct& product, ProductSchedule* schedule);
// All of that, and overrides, for product->schedule or product->dots of a kernel of `group`; `kernel` is what
// it computes.
KernelSchedule DecideProduct(const GroupView& group, const TargetInfo& target, std::string_view kernel,
                             MatrixProduct* product);

// A few rows by columns that lie along the depth (matrix_product_dots.cc).
struct DotsSchedule {
  int64_t block_panels = 4;     // of 16 columns, of a grid point
  int64_t columns_at_once = 4;  // share what is read of the row

  static const ScheduleFamily kFamily;
};

// Which kernels a contraction gets, by its rows.
struct ContractionSchedule {
  // Up to so many rows a right operand that changes from call to call is read in place; with more it pays to
  // pack it.
  int64_t rows_in_place = 24;
  int64_t rows_of_dots = 4;   // up to which dot products with columns where they lie beat packing them
  int64_t rows_of_codes = 8;  // that are multiplied with codes; beyond, panels are decoded once for a block
  int64_t rows_of_halves = 128;  // that 16-bit weights are widened for one by one; beyond, once for a block
  int64_t few_columns = 8;       // up to which rows and columns change places
  int64_t depth_of_dots = 64;    // from which on dot products then beat packing what were rows

  static const ScheduleFamily kFamily;
};

// Which kernels a convolution gets that is computed as a product.
struct ConvolutionSchedule {
  // Vectors run along pixels where that is taken to cost at most so many percent of what those along channels
  // do.
  int64_t planar_percent = 110;

  static const ScheduleFamily kFamily;
};

// Convolutions of channels_last data whose groups are narrower than a vector, depthwise ones among them.
struct DepthwiseSchedule {
  int64_t tile_pixels = 4;  // whose taps are combined together

  static const ScheduleFamily kFamily;
};

// Depthwise convolutions of channels_first data with vectors along channels (turned_depthwise.h).
struct TurnedSchedule {
  int64_t percent = 75;        // taken where it is thought to cost at most so many of what others do
  int64_t block_pixels = 256;  // of a grid point
  int64_t tile_pixels = 4;     // whose taps are combined together

  static const ScheduleFamily kFamily;
};

// Windows and depthwise convolutions along the rows of channels_first data (planar_blocks.h).
struct PlanarSchedule {
  int64_t block_rows = 16, block_columns = 512;  // of a grid point
  int64_t tile_rows = 4, tile_vectors = 2;       // combined together
  int64_t row_vectors = 4;                       // the same where there is only one row
  int64_t lanes = 16;                            // of a vector, at most what rows and types allow

  static const ScheduleFamily kFamily;
};

// Softmax, normalisations (schedule_rows.cc).
struct RowsSchedule {
  int64_t block_elements = 8192;  // of a grid point
  int64_t short_row = 28;         // elements up to which a vector holds one of each of several rows
  int64_t few_rows = 4;           // that lie side by side: vectors run along them nevertheless
  int64_t lanes = 1;              // of a vector, at most what types allow
  int64_t unrolled_vectors = 4;   // of several rows each

  static const ScheduleFamily kFamily;
};

// Everything that is an expression for each element (schedule_generic.cc).
struct PullsSchedule {
  int64_t block_elements = 8192;  // of a grid point, where an element costs a few operations
  int64_t tile_block = 128;       // of each of the two axes of tiles that are turned in registers
  // Elements that are reduced, up to which a vector holds several results; many more where it finds places.
  int64_t short_row = 28;
  int64_t few_rows = 4;          // results side by side, of which vectors hold one each nevertheless
  int64_t lanes = 1;             // of a vector, at most what types allow
  int64_t unrolled_vectors = 8;  // of results that are reductions; of windows half as many
  // Results are written past the caches by kernels that move more KiB. What a third level of cache of 32 MiB
  // still holds is read from there by what follows; two threads gain more by it than one loses.
  int64_t streamed_kib = 36 << 10;

  static const ScheduleFamily kFamily;
};

// Attention in one kernel (schedule_attention.cc).
struct AttentionSchedule {
  int64_t most_queries = 96;         // of a grid point; a multiple of the tiles' heights
  int64_t cached_scores = 24 << 10;  // so many of a block at most
  int64_t grid_points = 16;          // there are, where queries allow

  static const ScheduleFamily kFamily;
};

}  // namespace tvmvm::tensor
