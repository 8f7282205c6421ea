// Random numbers as tensor programs: the same on every device and in every run.
#pragma once

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// The 32-bit seed of a node: its attribute `seed`, or, where there is none, a number made of the node's name,
// so that nodes differ and a compiled model repeats its numbers.
int64_t SeedOf(OnnxContext& c);

// Numbers of [0, 1) with 53 bits as f64, row-major, each made of two words of the generator: what NumPy's
// RandomState draws for the same seed.
ValueId UniformNumbers(OpBuilder& b, const Dims& dims, int64_t seed);

}  // namespace tvmvm::ir
