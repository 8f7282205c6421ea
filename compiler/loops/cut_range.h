// Cutting a loop where conditions on its variable change (index-set splitting): padding, the edges of windows
// and the seams of joined tensors are compared in every element, though they differ in few. In the pieces
// between, indices are linear again, so that loads are wide.
#pragma once

#include <vector>

#include "compiler/loops/loop_blocks.h"

namespace tvmvm::tensor {

struct Piece {
  Range range;
  std::vector<Expr> roots;  // with what is known in this piece
  // Some windows reach beyond an edge here, others do not: no more elements than a window has.
  bool is_edge = false;
};

// The pieces of `range`, in order, for a loop over `variable`, which lies within [0, extent). Only conditions
// that indices of loads depend on are worth a cut; without any the range is one piece. Bounds of pieces are
// bound in the innermost scope of `nest`.
std::vector<Piece> CutRange(Nest& nest, VariableId variable, const Range& range, const ir::Dim& extent,
                            std::vector<Expr> roots);

// Where along the variable all such conditions hold, and the roots as they are there.
struct Inside {
  std::vector<Expr> roots;
  ir::Dim begin, end;
};
Inside InsideOf(VariableId variable, const ir::Dim& extent, std::vector<Expr> roots);

// The roots with loads that a condition on the variable masks, where they were clamped into the tensor and
// their elements replaced: such loads are wide at the edges, too.
std::vector<Expr> MaskedAtEdges(VariableId variable, std::vector<Expr> roots);

}  // namespace tvmvm::tensor
