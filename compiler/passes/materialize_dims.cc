// Shape arithmetic never becomes a kernel: an integer tensor whose contents are known as dims is made from
// the dims.

#include <set>

#include "compiler/ops/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::ValueId;

// Values whose contents got their symbols by being read: they must be computed.
std::set<ValueId> ReadValues(const ir::Function& function) {
  std::set<ValueId> values;
  for (const ir::Region& region : function.regions)
    for (NodeId id : region.nodes)
      if (function.node(id).op->kind == OpKind::kDefineDims) values.insert(function.node(id).inputs[0]);
  return values;
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
    GraphRewriter rewriter(&module, &function);
    std::set<ValueId> read = ReadValues(function);
    for (NodeId id : function.region(function.body).nodes) {
      const Node& node = function.node(id);
      if (!IsMadeOfDims(function, node) || read.count(node.outputs[0])) {
        rewriter.Copy(id);
        continue;
      }
      rewriter.builder().SetSource(node.source);
      const ir::Value& value = function.value(node.outputs[0]);
      ValueId flat = rewriter.builder().DimsTensor(*value.elements, value.type.dtype);
      rewriter.SetMap(node.outputs[0], rewriter.builder().Reshape(flat, value.type.dims));
    }
    TVMVM_CHECK_OK(rewriter.Finish());
  }
  return {};
}

}  // namespace tvmvm::passes
