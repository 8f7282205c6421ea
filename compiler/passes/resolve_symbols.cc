// Symbols that turned out constant: a define_dims of a constant tells their values, which go into every dim.

#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "compiler/graph/core_op.h"
#include "compiler/graph/infer.h"
#include "compiler/graph/op_builder.h"
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

// With constants for symbols a rule may say less than it did: 85 and n broadcast to 85, m and n to a choice
// of them. What a rule refuses is left for the verifier to say.
void InferAgain(const ir::Module& module, Function* function) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const ir::Region& region : function->regions)
      for (ir::NodeId id : region.nodes) {
        const Node& node = function->node(id);
        if (!node.op->infer) continue;
        const Expected<std::vector<ir::Type>> types = ir::InferResults(module, *function, node);
        if (!types || types->size() != node.outputs.size()) continue;
        for (size_t i = 0; i < types->size(); ++i) {
          const ir::ValueId output = node.outputs[i];
          if (!output.valid() || (*types)[i] == function->type(output)) continue;
          function->value(output).type = (*types)[i];
          changed = true;
        }
      }
  }
}

// A reshape to another number of elements, now that sizes are known.
std::optional<Error> ContradictionOf(const ir::Module& module, const Function& function, const Node& node) {
  if (node.op != &ir::GetCoreOp("reshape")) return std::nullopt;
  const DType dtype = function.type(node.outputs[0]).dtype;
  if (!IsInteger(dtype) && !IsFloat(dtype) && dtype != DType::kBool) return std::nullopt;
  const Expected<std::vector<ir::Type>> types = ir::InferResults(module, function, node);
  return types ? std::nullopt : std::optional(types.error());
}

// Where it runs, the node fails; what is behind it gets zeros.
void MakeFail(const std::string& message, ir::OpBuilder* b, ir::NodeId id) {
  const Node node = b->function().node(id);
  const Dims dims = b->dims(node.outputs[0]);
  b->SetSource(node.source);
  b->EmitMulti("require", {}, {{"condition", Dim(0)}, {"message", message}, {"values", Dims()}});
  const ir::ValueId zero = b->ScalarInt(b->dtype(node.outputs[0]), 0);
  Node& failed = b->function().node(id);
  failed.op = &ir::GetCoreOp("expand");
  failed.inputs = {zero};
  failed.attributes = {{"dims", dims}};
}

// Of the branches for each rank, some turn out never to be right. What contradicts itself in the function's
// own body is for the verifier to refuse.
void MakeContradictionsFail(ir::Module* module, Function* function) {
  for (uint32_t k = 0; k < function->regions.size(); ++k) {
    const ir::RegionId region{k};
    if (region == function->body) continue;
    for (const ir::NodeId id : std::exchange(function->region(region).nodes, {})) {
      if (const std::optional<Error> error = ContradictionOf(*module, *function, function->node(id))) {
        ir::OpBuilder b(module, function, region);
        MakeFail(error->message, &b, id);
      }
      function->region(region).nodes.push_back(id);
    }
  }
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
    MakeContradictionsFail(&module, &function);
    InferAgain(module, &function);
  }
  return {};
}

}  // namespace tvmvm::passes
