// Reductions of tensor expressions as loops over accumulators in registers.
#pragma once

#include <map>
#include <unordered_map>

#include "compiler/loops/lanes.h"

namespace tvmvm::tensor {

// Parts of a reduction: what it begins with, one more element, the type it sums in.
Expr ReductionIdentity(ReduceKind kind, DType dtype);
ExprOp CombineOf(ReduceKind kind, DType dtype);
Expr CombineReduced(ReduceKind kind, const Expr& accumulator, const Expr& value);
DType AccumulatorOf(const Expr& reduce);

// Few enough steps to write each of them down: the taps of a window.
bool IsShort(const Reduction& reduction);

class ReductionLowering {
 public:
  // `width`: lanes of a vector that runs along a reduced axis. `gathers`: also where such vectors are
  // gathered.
  ReductionLowering(Nest* nest, int width, bool gathers = false)
      : nest_(*nest), width_(width), gathers_(gathers) {}

  // Emits the loops of every reduction in `a`, each in the outermost scope that knows its operands, and gives
  // `a` with the results in their place. A reduction that differs between `lanes` keeps one accumulator for
  // each. Where that is so, the result may only be used inside of ForLanes(lanes) in the current scope.
  Expr Lower(const Expr& a, const Lanes& lanes);

  // From now on elements are stored to `buffer` when they are reduced, at an index over the axes of their
  // reduction.
  void Keep(uint32_t buffer, Expr index) { kept_ = {buffer, std::move(index)}; }

  // From now on the largest and the smallest are those of the numbers: NaN is passed over.
  void PassOverNan() { passes_over_nan_ = true; }

 private:
  struct Kept {
    uint32_t buffer = 0;
    Expr index;  // invalid: nothing is kept
  };

  Expr LowerOne(const Expr& reduce, const Lanes& lanes);
  Expr Emit(const Expr& reduce, const Lanes& lanes);
  Expr EmitArg(const Expr& reduce, const Lanes& lanes);
  Expr EmitArgAlongAxis(const Expr& reduce);
  Expr EmitAlongLanes(const Expr& reduce, const Lanes& lanes);
  Expr EmitAlongAxis(const Expr& reduce);
  void AccumulateAlongAxis(const Expr& reduce, const Expr& begin, const Expr& end, uint32_t partial,
                           uint32_t rest, int unroll);
  Expr Combined(ReduceKind kind, const Expr& so_far, const Expr& value) const;
  void Accumulate(const Expr& reduce, uint32_t buffer, const Expr& offset, const Lanes& lanes,
                  std::span<const std::pair<VariableId, Expr>> axes);
  int OpenOuterAxes(const Reduction& reduction, LoopKind loops,
                    std::vector<std::pair<VariableId, Expr>>* axes);

  Nest& nest_;
  int width_;
  bool gathers_;
  Kept kept_;
  bool passes_over_nan_ = false;
  bool guards_accumulation_ =
      false;  // the lanes at hand run along the reduced axis, the last of them past its end
};

// Which of the axes of a reduction the innermost loop should run along, as a position in `axes`: the one at
// unit stride.
size_t InnermostAxis(const Expr& reduce);
}  // namespace tvmvm::tensor
