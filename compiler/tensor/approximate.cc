#include "compiler/tensor/approximate.h"

#include "compiler/tensor/loop_ir.h"
#include "compiler/tensor/loop_rewrite.h"
#include "compiler/tensor/rewrite.h"

namespace tvmvm::tensor {

Expr ExpandNode(const Expr& e) { return e; }

Expr ExpandMath(const Expr& e) {
  Rewriter expand(ExpandNode);
  return expand(e);
}

LoopKernel ExpandMath(const LoopKernel& kernel) {
  LoopKernel result = kernel;
  result.body = MapExpressions(kernel.body, [](const Expr& e) { return ExpandMath(e); });
  return result;
}

}  // namespace tvmvm::tensor
