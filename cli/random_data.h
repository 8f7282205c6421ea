// Seeded random tensors. The same seed, dtype and shape give the same numbers on every machine.
#pragma once

#include <cstdint>

#include "tvm-vm/tensor.h"

namespace tvmvm::cli {

// Floats are uniform in [-1, 1). Integers of 32 and 64 bits are 0 or 1, so that they serve as indices and as
// masks; smaller ones are in [-8, 8) or [0, 16), as far as the type goes. Strings are "s0" to "s9".
Expected<Tensor> MakeRandomTensor(DType dtype, const Shape& shape, uint64_t seed);

}  // namespace tvmvm::cli
