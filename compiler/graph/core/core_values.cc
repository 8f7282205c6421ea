#include "compiler/graph/core/core_values.h"

#include <limits>

namespace tvmvm::ir {

using tensor::Expr;

Expr LowestValue(DType dtype) {
  if (IsFloat(dtype)) return tensor::Constant(dtype, -std::numeric_limits<double>::infinity());
  if (!IsSignedInteger(dtype)) return tensor::IntConstant(0, dtype);
  return tensor::IntConstant(DTypeBits(dtype) == 64 ? INT64_MIN : -(int64_t{1} << (DTypeBits(dtype) - 1)),
                             dtype);
}

Expr HighestValue(DType dtype) {
  if (IsFloat(dtype)) return tensor::Constant(dtype, std::numeric_limits<double>::infinity());
  if (dtype == DType::kBool) return tensor::BoolConstant(true);
  if (dtype == DType::kU64) return tensor::IntConstant(-1, dtype);
  int bits = IsSignedInteger(dtype) ? DTypeBits(dtype) - 1 : DTypeBits(dtype);
  return tensor::IntConstant(bits == 63 ? INT64_MAX : (int64_t{1} << bits) - 1, dtype);
}

Expr ClampIndex(const Expr& index, const Expr& size) {
  return Max(Min(index, size - tensor::IntConstant(1)), tensor::IntConstant(0));
}

Expr ClampInside(const Expr& position, const Dim& dim, Expr* inside) {
  Expr zero = tensor::IntConstant(0), last = tensor::DimValue(dim - Dim(1));
  *inside = And(*inside, And(LessEqual(zero, position), LessEqual(position, last)));
  return Max(zero, Min(position, last));
}

Expr ClampPadded(const Expr& position, const Dim& dim, const Dim& low, const Dim& high, Expr* inside) {
  return low.IsConstant(0) && high.IsConstant(0) ? position : ClampInside(position, dim, inside);
}

}  // namespace tvmvm::ir
