// What every step of a loop computes alike is computed once, before the loop. Only what cannot fail and has
// no open requirement moves: a loop without a step must not fail for what its body would have done. Branches
// keep what is theirs, because they may not be taken.

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/requirements.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/region_edit.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::RegionId;

bool MayMove(const Function& function, const Node& node) {
  return node.op->kind != OpKind::kHost && !IsControl(*node.op) && node.op->kind != OpKind::kRequire &&
         node.op->kind != OpKind::kCheck && ir::RequirementsOf(function, node).empty();
}

// Moves nodes of the loop's body to `before`.
void Hoist(Function* function, const Node& loop, std::vector<NodeId>* before) {
  RegionDefinitions inside(*function, loop, loop.regions[0]);
  std::vector<NodeId>& nodes = function->region(loop.regions[0]).nodes;
  std::erase_if(nodes, [&](NodeId id) {
    const Node& node = function->node(id);
    if (!MayMove(*function, node) || inside.Needed(*function, node)) return false;
    inside.MoveOut(*function, node);
    before->push_back(id);
    return true;
  });
}

}  // namespace

Status HoistInvariants(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) {
    std::vector<RegionId> regions = ir::RunningRegions(function);
    // From the inside out: what leaves an inner loop may leave the next one, too.
    for (auto region = regions.rbegin(); region != regions.rend(); ++region) {
      std::vector<NodeId> nodes;
      for (NodeId id : std::vector<NodeId>(function.region(*region).nodes)) {
        if (ir::IsLoop(function.node(id))) Hoist(&function, function.node(id), &nodes);
        nodes.push_back(id);
      }
      function.region(*region).nodes = std::move(nodes);
    }
  }
  return {};
}

}  // namespace tvmvm::passes
