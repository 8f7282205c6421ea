// Constants as f16, where that loses no more than rounding does.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace tvmvm::passes {

// The f32 constant rounded to f16. Nothing where that would change what it means: a number beyond f16's
// range, an infinity or NaN, or a slice along `axis` (-1: the whole) that consists of numbers so small that
// f16 holds few of their digits. Of a slice, rounding may take 2^-11 of its root mean square, as it does at
// most of numbers that f16 holds well: small numbers beside larger ones may vanish.
std::optional<ir::TensorData> HalfWeights(const ir::TensorData& data, int axis);

}  // namespace tvmvm::passes
