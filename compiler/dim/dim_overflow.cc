#include "compiler/dim/dim_overflow.h"

namespace tvmvm::ir {

bool MayOverflow(const Dim& dim) {
  if (dim.is_constant() || dim.is_symbol() || dim.op() == DimOp::kNamed) return false;
  for (const Dim& operand : dim.operands()) {
    int64_t limit = dim.op() == DimOp::kMul   ? int64_t{1} << 31
                    : dim.op() == DimOp::kAdd ? int64_t{1} << 62
                                              : INT64_MAX;
    if (operand.is_constant() && (operand.value() > limit || operand.value() < -limit)) return true;
    if (MayOverflow(operand)) return true;
  }
  return false;
}

}  // namespace tvmvm::ir
