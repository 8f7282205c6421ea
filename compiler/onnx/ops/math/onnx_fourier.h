// Fast Fourier transforms of lengths that are products of small primes.
#pragma once

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// Complex numbers as two tensors; no imaginary part stands for 0.
struct Complex {
  ValueId real;
  ValueId imaginary;
};

// 2 pi step / whole in f64, for whole numbers; reduced before they become floats, so that long transforms
// keep their precision.
ValueId AngleOf(OpBuilder& b, ValueId step, const Dim& whole);

// Whether FastTransform serves the length.
bool HasFastTransform(int64_t length);
// The transform of x [rows, length] along its last axis: the sum over j of x_j e^(-2 pi i j k / length), or
// e^(2 pi i j k / length) for the inverse, in the type of x.
Complex FastTransform(OpBuilder& b, const Complex& x, int64_t length, bool inverse);

}  // namespace tvmvm::ir
