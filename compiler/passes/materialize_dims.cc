// Shape arithmetic never becomes a kernel: an integer tensor whose contents are known as dims is made from
// the dims.

#include "compiler/graph/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::ValueId;

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
