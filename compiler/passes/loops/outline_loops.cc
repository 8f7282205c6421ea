#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {

Status OutlineLoops(ir::Module& module, const PassContext&) {
  for (ir::Function& function : module.functions)
    for (ir::Node& node : function.nodes)
      if (node.op != nullptr && ir::IsLoop(node)) node.decided.outline = true;
  return {};
}

}  // namespace tvmvm::passes
