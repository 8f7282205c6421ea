// What quantized operators share.
#pragma once

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// round(scaled) + zero_point, halves to even, saturated to the type of `zero_point`. `scaled` is f32.
ValueId Requantize(OpBuilder& b, ValueId scaled, ValueId zero_point);
// As above for results without zero point.
ValueId RoundTo(OpBuilder& b, ValueId scaled, DType dtype);

}  // namespace tvmvm::ir
