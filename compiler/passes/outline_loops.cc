#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {

Status OutlineLoops(ir::Module& module, const PassContext&) {
  for (ir::Function& function : module.functions)
    for (ir::Node& node : function.nodes)
      if (node.op != nullptr && ir::IsLoop(node)) node.attributes["outline"] = int64_t{1};
  return {};
}

}  // namespace tvmvm::passes
