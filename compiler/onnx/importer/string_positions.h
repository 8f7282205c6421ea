// Strings move as positions: an operator that only moves elements is given, for each tensor of strings, the
// positions of its elements, and what it returns says which strings to take. So strings need no kernels.
#pragma once

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// Runs a row of StringUse::kMoved. Inputs without strings stay as they are; where no input has strings, it is
// the plain row. Positions count through the elements of all the inputs of strings, in their order; every
// output of such a row is made of them.
void LowerOnPositions(const OnnxOp& row, OnnxContext* context);

}  // namespace tvmvm::ir
