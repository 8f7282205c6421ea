#include "compiler/graph/infer.h"

namespace tvmvm::ir {

Expected<std::vector<Type>> InferResults(const Module& module, const Function& function, const Node& node) {
  InferContext context{node, {}};
  for (ValueId input : node.inputs) context.inputs.push_back(input.valid() ? function.type(input) : Type());
  Expected<std::vector<Type>> types = node.op->infer(context);
  if (types)
    for (Type& type : *types) type.NameLargeDims(module.Ranges());
  return types;
}

}  // namespace tvmvm::ir
