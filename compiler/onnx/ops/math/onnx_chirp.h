// Fourier transforms of long signals whose length is known only when the model runs, or has large prime
// factors.
#pragma once

#include "compiler/onnx/ops/math/onnx_fourier.h"

namespace tvmvm::ir {

// The first `columns` numbers of the transform of x [rows, used], continued by zeros to `length`, along its
// last axis: [rows, columns], in the type of x. Takes time as length ^ (4/3), and memory as length.
Complex LongTransform(OpBuilder& b, const Complex& x, const Dim& columns, const Dim& length, bool inverse);

}  // namespace tvmvm::ir
