#include "compiler/expr/approximate.h"
#include "compiler/loops/loop_ir.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {

LoopKernel ExpandMath(const LoopKernel& kernel, MathTarget target) {
  LoopKernel result = kernel;
  result.body = MapExpressions(kernel.body, [&](const Expr& e) { return ExpandMath(e, target); });
  return result;
}

}  // namespace tvmvm::tensor
