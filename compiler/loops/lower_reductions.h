// Reductions of tensor expressions as loops over accumulators in registers.
#pragma once

#include <map>
#include <unordered_map>

#include "compiler/loops/nest.h"

namespace tvmvm::tensor {

// The elements that one statement works on at once: `unroll` vectors of `width` lanes. Element number
// unroll_variable * width + lane_variable.
struct Lanes {
  int width = 1;
  int unroll = 1;
  VariableId lane_variable = 0, unroll_variable = 0;
  Expr guard;  // bool: which elements there are; invalid: all of them

  static Lanes Make(LoopKernel* kernel, int width, int unroll);
  int count() const { return width * unroll; }
  Expr Number() const;
  bool In(const Expr& a) const;  // whether `a` differs between the elements
};

// Whether the last, partial vector of a loop may be a masked one: element types that masks exist for at every
// level, and no gathers.
bool SuitsMasks(std::span<const Expr> roots, VariableId variable);
// `a` with loads that touch only elements that there are.
Expr Guarded(const Expr& a, const Lanes& lanes);

// Opens the loops over the elements, builds, closes.
void ForLanes(Nest& nest, const Lanes& lanes, const std::function<void()>& build);

// Loops over a range in vectors: groups of `unroll` vectors, single vectors, single elements. `build` gets
// the position of the element and the lanes at hand, and opens them with ForLanes where it stores.
void ForVectors(Nest& nest, const std::string& name, Expr begin, const Expr& end, int width, int unroll,
                const std::function<void(const Expr&, const Lanes&)>& build);

// Parts of a reduction: what it begins with, one more element, the type it sums in.
Expr ReductionIdentity(ReduceKind kind, DType dtype);
ExprOp CombineOf(ReduceKind kind, DType dtype);
Expr CombineReduced(ReduceKind kind, const Expr& accumulator, const Expr& value);
DType AccumulatorOf(const Expr& reduce);

class ReductionLowering {
 public:
  // `width`: lanes of a vector that runs along a reduced axis.
  ReductionLowering(Nest* nest, int width) : nest_(*nest), width_(width) {}

  // Emits the loops of every reduction in `a`, each in the outermost scope that knows its operands, and gives
  // `a` with the results in their place. A reduction that differs between `lanes` keeps one accumulator for
  // each. Where that is so, the result may only be used inside of ForLanes(lanes) in the current scope.
  Expr Lower(const Expr& a, const Lanes& lanes);

 private:
  Expr LowerOne(const Expr& reduce, const Lanes& lanes);
  Expr Emit(const Expr& reduce, const Lanes& lanes);
  Expr EmitArg(const Expr& reduce, const Lanes& lanes);
  Expr EmitAlongLanes(const Expr& reduce, const Lanes& lanes);
  Expr EmitAlongAxis(const Expr& reduce);
  void AccumulateAlongAxis(const Expr& reduce, const Expr& begin, const Expr& end, uint32_t partial,
                           uint32_t rest, int unroll);
  void Accumulate(const Expr& reduce, uint32_t buffer, const Lanes& lanes,
                  std::span<const std::pair<VariableId, Expr>> axes);
  int OpenOuterAxes(const Reduction& reduction, std::vector<std::pair<VariableId, Expr>>* axes);

  Nest& nest_;
  int width_;
  bool guards_accumulation_ =
      false;  // the lanes at hand run along the reduced axis, the last of them past its end
};

// Which of the axes of a reduction the innermost loop should run along, as a position in `axes`: the one at
// unit stride.
size_t InnermostAxis(const Expr& reduce);
// How well loads in `a` suit vectors along `variable`: the number of distinct loads that are neither at unit
// stride nor the same for all lanes.
int GatheredLoads(const Expr& a, VariableId variable);

}  // namespace tvmvm::tensor
