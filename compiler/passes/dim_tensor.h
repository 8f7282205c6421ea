// Integer expressions over symbols, computed as tensors: for what the scalars of bytecode cannot know without
// waiting for a device.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compiler/graph/op_builder.h"

namespace tvmvm::passes {

// The i64 scalar tensor that stands for a symbol; none: scalar bytecode knows the symbol.
using SymbolTensors = std::function<std::optional<ir::ValueId>(const ir::SymbolId&)>;

// The value of `dim` as an i64 tensor of rank 0. Parts without a symbol of `tensors` are left to scalar
// bytecode. Wraps where bytecode would report an overflow; a divisor must not be 0.
ir::ValueId EmitDim(ir::OpBuilder& builder, const ir::Dim& dim, const SymbolTensors& tensors);

}  // namespace tvmvm::passes
