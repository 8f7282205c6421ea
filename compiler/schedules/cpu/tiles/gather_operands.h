// Bringing operands of matrix products into the layout that register tiles read, at run time.
#pragma once

#include <functional>
#include <optional>

#include "compiler/loops/loop_blocks.h"
#include "compiler/loops/nest.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

// Runs `body` for each c in [0, count): vectors of `most` first, then narrower ones, of which a last one may
// begin among those before it, or single steps.
void InChunks(Nest& nest, const ir::Dim& count, const std::function<void(const Expr& c)>& body,
              int64_t most = 16);

// Columns [first, first + 16 * panels) of a right operand, as panels of `depth` rows of 16; columns that do
// not exist are zero.
struct PanelGather {
  ir::Dim depth, columns;
  Expr first;
  int panels = 1;
  uint32_t target = 0;
  Expr base = IntConstant(0);  // of the target, where the first panel goes
  std::optional<Range> part;   // of the depth, where it is not all of it
  // Neighbours along the depth lie side by side, neighbouring columns do not.
  bool depth_is_contiguous = false;
  // The element at (k, column), in the target's type.
  std::function<Expr(const Expr& k, const Expr& column)> element;
};
void GatherPanels(Nest& nest, const PanelGather& gather, const TargetInfo& target);

// Panels of a packed operand of other numbers, as panels of the target's: `panels` of them from number
// `first` on, of all `depth` steps or a part.
struct PackedGather {
  uint32_t buffer = 0;
  DType dtype = DType::kInvalid;
  ir::Dim depth;
  Expr first;
  int panels = 1;
  uint32_t target = 0;
  std::optional<Range> part;
};
void GatherPacked(Nest& nest, const PackedGather& gather);

// Rows of a block of gathered left operands, so that the block stays in the second level of cache.
int64_t GatheredBlockRows(const ir::Dim& depth);

}  // namespace tvmvm::tensor
