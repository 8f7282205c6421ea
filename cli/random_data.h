// Seeded random tensors. The same seed, dtype and shape give the same numbers on every machine.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/options.h"
#include "tvm-vm/tensor.h"

namespace tvmvm::cli {

// Floats are uniform in [-1, 1). Integers of 32 and 64 bits are 0 or 1, so that they serve as indices and as
// masks; smaller ones are in [-8, 8) or [0, 16), as far as the type goes. Strings are "s0" to "s9".
// With a range floats are uniform in it, and integers those from low up to, but without, high:
// kInvalidArgument where the type has not all of them.
Expected<Tensor> MakeRandomTensor(DType dtype, const Shape& shape, uint64_t seed,
                                  const std::optional<ValueRange>& range = {});

}  // namespace tvmvm::cli
