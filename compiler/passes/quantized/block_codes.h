// Numbers as codes of a few bits, block by block: what `dequantize` takes back (graph/core).
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/graph/graph.h"

namespace tvmvm::passes {

struct BlockCodes {
  ir::TensorData codes;  // i4 or i8; with zero points u4 or u8
  ir::TensorData scale;  // f16 where that holds them, else f32: the codes' dims, a block one entry of `axis`
  std::optional<ir::TensorData> zero;  // u8 likewise
  double relative_error = 0;           // root mean square of the errors by that of the numbers
  double largest_error = 0;            // by the largest number
};

// Codes of 4 or 8 bits for floats (f32, f16, bf16), a scale for each `block` of them along `axis`. Blocks are
// symmetric, or all have a zero point, whatever makes the error smaller. Nothing where a number is not
// finite.
std::optional<BlockCodes> MakeBlockCodes(const ir::TensorData& numbers, int axis, int64_t block, int bits);

}  // namespace tvmvm::passes
