// Elements of dense host data, one at a time, of any numeric element type.
#pragma once

#include <cstddef>
#include <span>

#include "compiler/expr/scalar_math.h"
#include "compiler/graph/graph.h"

namespace tvmvm::ir {

// `index` counts elements in row-major order and is in range; the type is numeric or bool.
tensor::Scalar ReadElement(const TensorData& data, int64_t index);
// Types below 8 bits share bytes: `bytes` starts out zeroed.
void WriteElement(DType dtype, std::span<std::byte> bytes, int64_t index, tensor::Scalar value);
// A constant expression of the data's type.
tensor::Expr ElementConstant(const TensorData& data, int64_t index);
// True for the types that ReadElement reads.
bool IsNumeric(DType dtype);

}  // namespace tvmvm::ir
