// What operators that build their own loops share: flat positions, axes seen as [outer, axis, inner], what
// steps of loops cost.
#pragma once

#include "compiler/graph/core_op.h"
#include "compiler/loops/loop_blocks.h"
#include "compiler/loops/lower_reductions.h"
#include "compiler/loops/nest.h"

namespace tvmvm::ir {

// A row-major position as an index for LoopContext: all other coordinates are 0.
std::vector<tensor::Expr> FlatPosition(const Type& type, const tensor::Expr& position);

// Sizes before, along and after an axis, which may be known only at run time.
struct AxisSplit {
  Dim outer, size, inner;
};
AxisSplit SplitAt(const Dims& dims, const Dim& axis);

// A step of scalar code that waits for what it loads, in operations of vector code that take as long.
inline constexpr int64_t kScalarStep = 32;

Dim ElementsOf(const Type& type);  // 0: absent
Dim BytesOf(const Type& type);
// All inputs read and all outputs written once.
Dim BytesOnce(const WorkContext& context);

// Vector lanes for a type of this width.
int LanesOf(const TargetInfo& target, DType dtype);

}  // namespace tvmvm::ir
