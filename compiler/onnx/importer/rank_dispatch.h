// Operators on tensors whose rank only running tells, or that read a list (axes, sizes, bounds) whose length
// only running tells: a branch for each rank or length that there may be, with the operator as it is for that
// one.
#pragma once

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// Runs the row once for each rank of its inputs of unknown rank, and for each length of the lists; those that
// the operator does not take are errors at run time. Where all are known, it is the plain row. Errors: those
// of the row, where it takes no rank or length at all.
void LowerForRanks(const OnnxOp& row, OnnxContext* context);

}  // namespace tvmvm::ir
