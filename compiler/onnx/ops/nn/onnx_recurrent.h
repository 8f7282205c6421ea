// Recurrent operators whose operands another operator makes.
#pragma once

#include <functional>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

struct RecurrentOperands {
  struct Matrix {
    ValueId value;       // rank 2
    int64_t depth_axis;  // the other one is gates * hidden
  };
  // The weights of one direction, for the inputs and for the state.
  std::function<Matrix(int direction)> weights, recurrent;
  // The inputs of all steps, or a state, as they enter a product; empty: as they are.
  std::function<ValueId(ValueId)> prepared;
};

// LSTM with inputs and attributes where the operator has them; its inputs 1 and 2 are not read.
void LstmOf(OnnxContext& c, const RecurrentOperands& operands);

}  // namespace tvmvm::ir
