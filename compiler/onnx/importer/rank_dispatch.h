// Operators on tensors whose rank only running tells, or that read a list (axes, sizes, bounds) whose length
// only running tells. What is done to each element alone is done to the list of the elements; the rest is a
// branch for each rank or length that there may be, with the operator as it is for that one.
#pragma once

#include "compiler/onnx/importer/flat_views.h"
#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// Runs the row where the ranks are known, and as above where they are not; ranks and lengths that the
// operator does not take are errors at run time. Errors: those of the row, where it takes no rank or length
// at all.
void LowerForRanks(const OnnxOp& row, OnnxContext* context, FlatViews* flats);

}  // namespace tvmvm::ir
