// The schedules of GPU kernels as data, a struct for each family; the builders take them.
#pragma once

#include <cstdint>

#include "compiler/schedules/schedule_data.h"

namespace tvmvm::tensor {

// Which kernels a product gets (schedule_gpu_product.cc). As many tiles keep a device of some hundred
// processors busy; fewer are better taken by the next smaller ones. Measured by bench/gpu_products.
struct GpuProductSchedule {
  int64_t thin_rows = 32;  // up to which a result of a few tiles is summed by all work-items of a group
  int64_t few_tiles = 64;  // small ones, which leave most of a device idle
  int64_t busy_large = 256,
          busy_middle = 128;  // tiles of 128 x 128 and of 64 x 64, from which on they are taken
  int64_t busy_halves = 64;   // the same for factors of f16
  // Fewer tiles than `many_tiles`, of a depth of `long_depth` or more, are cut along it into shares until
  // there are `busy_groups`.
  int64_t many_tiles = 256, long_depth = 256;
  int64_t shortest_share = 96, most_shares = 32, busy_groups = 512;

  static const ScheduleFamily kFamily;
};

// Softmax, normalisations, reductions (schedule_gpu_rows.cc).
struct GpuRowsSchedule {
  int64_t row_items = 256;                   // of a group that takes a row
  int64_t read_at_once = 4;                  // elements that are cheap to compute
  int64_t short_row = 32;                    // elements that one work-item takes
  int64_t many_rows = 16384;                 // where work-items keep a device busy by themselves
  int64_t few_rows = 256, long_row = 16384;  // which several groups share
  int64_t busy_groups = 1024, shortest_share = 4096;
  int64_t held_bytes = 16 << 10;  // of shared memory, for elements of a row

  static const ScheduleFamily kFamily;
};

// Everything that is an expression for each element (schedule_gpu_pulls.cc).
struct GpuPullsSchedule {
  int64_t group_items = 128;

  static const ScheduleFamily kFamily;
};

}  // namespace tvmvm::tensor
