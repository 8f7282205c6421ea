// Branches whose condition is known are taken at once; carried values that no step changes are what they were
// before the loop; results that nobody uses go;
// positions are told by a loop's index itself where it is known to be in range.

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/region_edit.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::Region;
using ir::RegionId;
using ir::ValueId;

// The nodes of the branch that is taken, in place of the `if`. False: not known which, or the branch's sizes
// have names of their own.
bool TakeBranch(Function* function, const Node& node, std::vector<NodeId>* to) {
  const ir::Dim& condition = ir::DimAttribute(node, "condition");
  if (!condition.is_constant() || !ir::SymbolList(node, "symbols").empty()) return false;
  const Region branch = function->region(node.regions[condition.value() != 0 ? 0 : 1]);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!(function->type(node.outputs[i]) == function->type(branch.results[i]))) return false;
  to->insert(to->end(), branch.nodes.begin(), branch.nodes.end());
  for (size_t i = 0; i < node.outputs.size(); ++i) ReplaceUses(function, node.outputs[i], branch.results[i]);
  return true;
}

template <class T>
void EraseAt(std::vector<T>* list, size_t i) {
  list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
}

void SimplifyLoop(Function* function, NodeId id) {
  const std::vector<int> uses = CountUses(*function);
  Node& loop = function->node(id);
  Region& region = function->region(loop.regions[0]);
  for (size_t i = loop.outputs.size(); i-- > 0;) {
    bool carried = i < ir::CarriedCount(loop);
    bool used = uses[loop.outputs[i].index] > 0;
    if (carried) {
      ValueId parameter = region.parameters[i], initial = loop.inputs[i];
      bool same_type = function->type(parameter) == function->type(initial) &&
                       function->type(loop.outputs[i]) == function->type(initial);
      bool unchanged = region.results[i] == parameter && same_type;
      if (unchanged) {
        ReplaceUses(function, parameter, initial);
        ReplaceUses(function, loop.outputs[i], initial);
      } else if (used || uses[parameter.index] > 0) {
        continue;
      }
      EraseAt(&region.parameters, i);
      EraseAt(&loop.inputs, i);
    } else if (used) {
      continue;
    }
    EraseAt(&region.results, i);
    EraseAt(&loop.outputs, i);
  }
}

void SimplifyIf(Function* function, NodeId id) {
  const std::vector<int> uses = CountUses(*function);
  Node& node = function->node(id);
  for (size_t i = node.outputs.size(); i-- > 0;) {
    if (uses[node.outputs[i].index] > 0) continue;
    EraseAt(&node.outputs, i);
    for (RegionId region : node.regions) EraseAt(&function->region(region).results, i);
  }
}

// Positions in the region in terms of an index that is known to be below the trip count.
void SimplifyPositions(Function* function, RegionId id, const Node& loop, const ir::RangeLookup& ranges) {
  for (NodeId node_id : function->region(id).nodes) {
    Node& node = function->node(node_id);
    const bool moves = node.op->traits.axes == ir::AxisMap::kSlice;
    if (auto* starts = moves ? std::get_if<ir::Dims>(&node.attributes["starts"]) : nullptr)
      for (ir::Dim& start : *starts) start = ir::SimplifyInLoop(start, loop, ranges);
    for (RegionId inner : node.regions) SimplifyPositions(function, inner, loop, ranges);
  }
}

void SimplifyRegion(Function* function, RegionId id, const ir::RangeLookup& ranges) {
  std::vector<NodeId> nodes;
  for (NodeId node : std::vector<NodeId>(function->region(id).nodes)) {
    if (ir::IsIf(function->node(node)) && TakeBranch(function, Node(function->node(node)), &nodes)) continue;
    if (ir::IsIf(function->node(node))) SimplifyIf(function, node);
    if (const Node& loop = function->node(node); ir::IsLoop(loop)) {
      SimplifyLoop(function, node);
      SimplifyPositions(function, loop.regions[0], loop, ranges);
    }
    nodes.push_back(node);
  }
  function->region(id).nodes = std::move(nodes);
}

}  // namespace

Status SimplifyControl(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) {
    // From the inside out: what an inner region needs no more, the outer one need not give.
    std::vector<RegionId> regions = ir::RunningRegions(function);
    for (auto region = regions.rbegin(); region != regions.rend(); ++region)
      SimplifyRegion(&function, *region, module.Ranges());
  }
  return {};
}

}  // namespace tvmvm::passes
