#include "compiler/graph/infer.h"

#include <algorithm>

namespace tvmvm::ir {
namespace {

// Names the large dims that `known`, a type of the same value, names: cheaper than to make the names again.
void TakeNames(const Type& known, Type* type) {
  for (size_t i = 0; i < std::min(known.dims.size(), type->dims.size()); ++i) {
    const Dim& name = known.dims[i];
    Dim& dim = type->dims[i];
    if (dim.size() > Dim::kMaxPlain && name.op() == DimOp::kNamed && name.operands()[0] == dim) dim = name;
  }
}

}  // namespace

Expected<std::vector<Type>> InferResults(const Module& module, const Function& function, const Node& node) {
  InferContext context{node, {}};
  for (ValueId input : node.inputs) context.inputs.push_back(input.valid() ? function.type(input) : Type());
  Expected<std::vector<Type>> types = node.op->infer(context);
  if (!types) return types;
  for (size_t i = 0; i < types->size(); ++i) {
    if (i < node.outputs.size() && node.outputs[i].valid())
      TakeNames(function.type(node.outputs[i]), &(*types)[i]);
    (*types)[i].NameLargeDims(module.Ranges());
  }
  return types;
}

}  // namespace tvmvm::ir
