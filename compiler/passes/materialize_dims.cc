// Shape arithmetic never becomes a kernel: an integer tensor whose contents are known as dims is made from
// the dims. Where a symbol of theirs is no longer defined, since nothing needed it, the contents are not
// known.

#include <algorithm>
#include <set>
#include <string>

#include "compiler/ir/control.h"
#include "compiler/ops/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::ValueId;

// Every symbol that has a value somewhere in the function.
std::set<std::string> SymbolsWithValues(const ir::Module& module, const ir::Function& function) {
  std::set<std::string> symbols;
  for (const auto& [name, info] : module.symbols)
    if (info.from_input) symbols.insert(name);
  auto add = [&](const std::vector<std::string>& names) { symbols.insert(names.begin(), names.end()); };
  for (ValueId parameter : function.region(function.body).parameters) {
    for (const ir::Dim& dim : function.type(parameter).dims) {
      std::vector<std::string> names;
      CollectSymbols(dim, &names);
      add(names);
    }
  }
  for (ir::RegionId region : ir::RunningRegions(function)) {
    for (NodeId id : function.region(region).nodes) {
      add(ir::DefinedSymbols(function, function.node(id)));
      if (ir::IsLoop(function.node(id))) add(ir::RegionSymbols(function.node(id)));
    }
  }
  return symbols;
}

bool HaveValues(const ir::Dims& elements, const std::set<std::string>& symbols) {
  std::vector<std::string> names;
  for (const ir::Dim& dim : elements) CollectSymbols(dim, &names);
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return symbols.count(name) != 0; });
}

bool IsMadeOfDims(const ir::Function& function, const Node& node) {
  switch (node.op->kind) {
    case OpKind::kElementwise:
    case OpKind::kMovement:
    case OpKind::kView:
    case OpKind::kReduce:
      break;
    default:
      return false;
  }
  if (node.outputs.size() != 1) return false;
  const ir::Value& value = function.value(node.outputs[0]);
  if (!value.elements || DTypeBits(value.type.dtype) < 8) return false;
  for (const ir::Dim& dim : value.type.dims)
    if (!dim.is_constant()) return false;
  return true;
}

}  // namespace

Status MaterializeDims(ir::Module& module, const PassContext&) {
  for (ir::Function& function : module.functions) {
    std::set<std::string> symbols = SymbolsWithValues(module, function);
    for (ir::Value& value : function.values)
      if (value.elements && !HaveValues(*value.elements, symbols)) value.elements.reset();
    GraphRewriter rewriter(&module, &function);
    rewriter.Run([&](NodeId id) {
      const Node& node = function.node(id);
      if (!IsMadeOfDims(function, node)) return false;
      const ir::Value& value = function.value(node.outputs[0]);
      ValueId flat = rewriter.builder().DimsTensor(*value.elements, value.type.dtype);
      rewriter.SetMap(node.outputs[0], rewriter.builder().Reshape(flat, value.type.dims));
      return true;
    });
    TVMVM_CHECK_OK(rewriter.Finish());
  }
  return {};
}

}  // namespace tvmvm::passes
