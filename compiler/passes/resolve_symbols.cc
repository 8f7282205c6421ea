// Symbols that turned out constant: a define_dims of a constant tells their values, which go into every dim.

#include <cstring>
#include <unordered_map>

#include "compiler/graph/core_op.h"
#include "compiler/graph/tensor_elements.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Node;
using Values = std::unordered_map<ir::SymbolId, Dim>;

void Resolve(Dim* dim, const Values& values) {
  *dim = Substitute(*dim, [&](const ir::SymbolId& symbol) -> std::optional<Dim> {
    auto found = values.find(symbol);
    return found == values.end() ? std::nullopt : std::optional<Dim>(found->second);
  });
}

void Resolve(Dims* dims, const Values& values) {
  for (Dim& dim : *dims) Resolve(&dim, values);
}

void Resolve(ir::Type* type, const Values& values) {
  Resolve(&type->dims, values);
  for (ir::Type& element : type->elements) Resolve(&element, values);
}

// Takes the constant define_dims out of the function.
Values TakeConstants(Function* function) {
  Values values;
  for (ir::Region& region : function->regions)
    std::erase_if(region.nodes, [&](ir::NodeId id) {
      const Node& node = function->node(id);
      if (node.op->kind != ir::OpKind::kDefineDims) return false;
      const ir::TensorData* data = function->ConstantOf(node.inputs[0]);
      if (data == nullptr) return false;
      const auto& symbols = node.Symbols("symbols");
      for (size_t i = 0; i < symbols.size(); ++i)
        values[symbols[i]] = Dim(ir::ReadElement(*data, static_cast<int64_t>(i)).integer);
      return true;
    });
  return values;
}

}  // namespace

Status ResolveSymbols(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) {
    Values values = TakeConstants(&function);
    if (values.empty()) continue;
    for (ir::Value& value : function.values) {
      Resolve(&value.type, values);
      if (value.elements) Resolve(&*value.elements, values);
    }
    for (Node& node : function.nodes)
      for (auto& [name, attribute] : node.attributes) {
        if (auto* dim = std::get_if<Dim>(&attribute)) Resolve(dim, values);
        if (auto* dims = std::get_if<Dims>(&attribute)) Resolve(dims, values);
      }
  }
  return {};
}

}  // namespace tvmvm::passes
