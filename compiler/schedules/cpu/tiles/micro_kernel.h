// The innermost loops of matrix products: a tile of the result in registers, summed over the whole depth.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/loops/loop_ir.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

inline constexpr int kMostTileRows = 12;

// Rows x panels of 16 columns.
struct RegisterTile {
  int rows = 1;
  int panels = 1;
};

// The register tiles that one kernel uses: blocks of at most `few_rows` rows take tiles of exactly their
// height and `few_panels` width (so that no row is wasted and several panels stream at once); larger blocks
// are cut into tiles of nearly equal heights, at most `rows`, and `panels` width.
struct TilePlan {
  struct Few {
    int max_rows = 0;  // heights above the entry before, up to this
    int panels = 1;
  };
  std::vector<Few> few;  // ascending
  int rows = 1;
  int panels = 1;
  int few_rows() const { return few.empty() ? 0 : few.back().max_rows; }
};

// What the tiles of a product go by.
struct TileProblem {
  DType accumulator = DType::kInvalid;  // of sums
  int block_panels = 1;                 // 1 to 4, which every width divides
  bool dots = false;         // products are DotBytes, which take more registers where the target has none
  bool may_be_wide = false;  // tiles of four panels compute hardly any columns that do not exist
  int most_rows = kMostTileRows;
};
TilePlan PlanTiles(const TargetInfo& target, const TileProblem& problem);

// Lanes of one vector of `accumulator`, at most a panel.
int VectorLanes(const TargetInfo& target, DType accumulator);

// Steps of the depth: [begin, end), and where `parts` is given as many behind each multiple of `part_steps`.
struct DepthRange {
  Expr begin, end;
  Expr parts, part_steps;
};

// A[r, k] is a_buffer[a_rows[r] + k * a_step]; panel p of B at depth k is the 16 elements of b_buffer from
// b_base + p * b_panel_step + k * b_step on. Elements are converted to `accumulator`; where both buffers hold
// u32, an element is four bytes of the depth (DotBytes).
struct MicroKernelOperands {
  uint32_t a_buffer = 0;
  DType a_dtype = DType::kInvalid;
  std::vector<Expr> a_rows;  // one a row of the tile
  Expr a_step;
  // Rows lie at distances that the code can hold: no registers are needed for their places.
  bool has_near_rows = true;
  uint32_t b_buffer = 0;
  DType b_dtype = DType::kInvalid;
  Expr b_base, b_panel_step, b_step;
  // Rows of B lie anywhere: in place of k * b_step, element k of this buffer of i64.
  std::optional<uint32_t> b_offsets;
  ir::Dim depth;
  // Where that is not all of it: a_rows and b_base are of its first step, b_offsets are of all.
  std::optional<DepthRange> range;
  DType accumulator = DType::kInvalid;
  // Updates of sums per round of the main loop: enough to hide the loop's own instructions, few enough to
  // compile fast; and the most steps of the depth.
  int round_updates = 48, round_steps = 4;
};

// Sums over the depth into `sums`, registers for the rows of the tile, `panels` * 16 elements each.
StmtPtr MicroKernel(LoopKernel* kernel, const MicroKernelOperands& operands, RegisterTile shape, int lanes,
                    uint32_t sums);

}  // namespace tvmvm::tensor
