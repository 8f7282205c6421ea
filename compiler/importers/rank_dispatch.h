// Operators on tensors whose rank only running tells: a branch for each rank that the tensor may have, with
// the operator as it is for that rank.
#pragma once

#include "compiler/ops/onnx_op.h"

namespace tvmvm::ir {

// Runs the row once for each rank of its inputs of unknown rank; ranks that the operator does not take are
// errors at run time. Where all ranks are known, it is the plain row. Errors: those of the row, where it
// takes no rank at all.
void LowerForRanks(const OnnxOp& row, OnnxContext* context);

}  // namespace tvmvm::ir
