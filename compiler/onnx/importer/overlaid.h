// Operators that lay their inputs over one another from the right (Overlay), on inputs of several unknown
// ranks: all get the most axes that there may be, so that no branch is needed.
#pragma once

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// False: the operator does not do so, or less than two inputs have an unknown rank. Errors go to the builder.
bool LowerOverlaid(const OnnxOp& row, OnnxContext* context);

}  // namespace tvmvm::ir
