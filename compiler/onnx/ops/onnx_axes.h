// Axes that a list of any length names: only running tells which they are, and how many.
#pragma once

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// Whether the input is a list whose length only running tells.
bool IsListOfAnyLength(OnnxContext& c, size_t input);
// One 0/1 dim for each of `rank` axes; all of them are `of_none` where the list is empty. The run fails where
// an axis is out of range.
Dims FlagsOfList(OnnxContext& c, ValueId list, int rank, const Dim& of_none);
Dim CountOf(const Dims& flags);
// x without the axes whose flag is 1, which have size 1. Where only running tells how many these are, there
// is a branch for each number, and the result has no known rank.
ValueId DropAxes(OnnxContext& c, ValueId x, const Dims& flags);

}  // namespace tvmvm::ir
