// What quantized operators share.
#pragma once

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// round(scaled) + zero_point, halves to even, saturated to the type of `zero_point`. `scaled` is f32.
ValueId Requantize(OpBuilder& b, ValueId scaled, ValueId zero_point);
// As above for results without zero point.
ValueId RoundTo(OpBuilder& b, ValueId scaled, DType dtype);

// A scale or a zero point: one number as rank 0, so that it goes with everything; others as they are.
ValueId OneOrMany(OpBuilder& b, ValueId x);
// (x - zero) * scale in f32; no zero point is 0.
ValueId Dequantized(OpBuilder& b, ValueId x, ValueId scale, ValueId zero);

// The last axis of bytes, each of which holds numbers of `bits` bits (a divisor of 8), the lowest first, as
// an axis of numbers.
ValueId UnpackedBits(OpBuilder& b, ValueId bytes, int64_t bits);

}  // namespace tvmvm::ir
