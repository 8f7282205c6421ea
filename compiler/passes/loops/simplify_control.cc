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
using ir::RegionId;
using ir::ValueId;

template <class T>
void EraseAt(std::vector<T>* list, size_t i) {
  list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
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

class Simplifier {
 public:
  Simplifier(Function* function, const ir::RangeLookup& ranges)
      : function_(*function), ranges_(ranges), uses_(function) {}

  void Region(RegionId id) {
    std::vector<NodeId> nodes, taken;
    for (NodeId node : std::vector<NodeId>(function_.region(id).nodes)) {
      if (ir::IsIf(function_.node(node)) && TakeBranch(function_.node(node), &nodes)) {
        taken.push_back(node);
        continue;
      }
      if (ir::IsIf(function_.node(node))) If(node);
      if (const Node& loop = function_.node(node); ir::IsLoop(loop)) {
        Loop(node);
        SimplifyPositions(&function_, loop.regions[0], loop, ranges_);
      }
      nodes.push_back(node);
    }
    function_.region(id).nodes = std::move(nodes);
    for (NodeId node : taken) Forget(function_.node(node));
  }

 private:
  // The nodes of the branch that is taken, in place of the `if`. False: not known which, or the branch's
  // sizes have names of their own.
  bool TakeBranch(const Node& node, std::vector<NodeId>* to) {
    const ir::Dim& condition = ir::DimAttribute(node, "condition");
    if (!condition.is_constant() || !node.Symbols("symbols").empty()) return false;
    const ir::Region& branch = function_.region(node.regions[condition.value() != 0 ? 0 : 1]);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (!(function_.type(node.outputs[i]) == function_.type(branch.results[i]))) return false;
    to->insert(to->end(), branch.nodes.begin(), branch.nodes.end());
    for (size_t i = 0; i < node.outputs.size(); ++i) uses_.Replace(node.outputs[i], branch.results[i]);
    return true;
  }

  // What a branch that was not taken used, and the results of both.
  void Forget(const Node& node) {
    const size_t taken = ir::DimAttribute(node, "condition").value() != 0 ? 0 : 1;
    uses_.DropRegion(node.regions[1 - taken]);
    for (ValueId result : function_.region(node.regions[taken]).results) uses_.Drop(result);
  }

  void Loop(NodeId id) {
    Node& loop = function_.node(id);
    ir::Region& region = function_.region(loop.regions[0]);
    std::vector<ValueId> dropped;
    for (size_t i = loop.outputs.size(); i-- > 0;) {
      bool carried = i < ir::CarriedCount(loop);
      bool used = uses_.Count(loop.outputs[i]) > 0;
      if (carried) {
        ValueId parameter = region.parameters[i], initial = loop.inputs[i];
        bool same_type = function_.type(parameter) == function_.type(initial) &&
                         function_.type(loop.outputs[i]) == function_.type(initial);
        bool unchanged = region.results[i] == parameter && same_type;
        if (unchanged) {
          uses_.Replace(parameter, initial);
          uses_.Replace(loop.outputs[i], initial);
        } else if (used || uses_.Count(parameter) > 0) {
          continue;
        }
        dropped.push_back(initial);
        EraseAt(&region.parameters, i);
        EraseAt(&loop.inputs, i);
      } else if (used) {
        continue;
      }
      dropped.push_back(region.results[i]);
      EraseAt(&region.results, i);
      EraseAt(&loop.outputs, i);
    }
    for (ValueId value : dropped) uses_.Drop(value);
  }

  void If(NodeId id) {
    Node& node = function_.node(id);
    std::vector<ValueId> dropped;
    for (size_t i = node.outputs.size(); i-- > 0;) {
      if (uses_.Count(node.outputs[i]) > 0) continue;
      EraseAt(&node.outputs, i);
      for (RegionId region : node.regions) {
        dropped.push_back(function_.region(region).results[i]);
        EraseAt(&function_.region(region).results, i);
      }
    }
    for (ValueId value : dropped) uses_.Drop(value);
  }

  Function& function_;
  const ir::RangeLookup& ranges_;
  UseLists uses_;
};

}  // namespace

Status SimplifyControl(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) {
    // From the inside out: what an inner region needs no more, the outer one need not give.
    std::vector<RegionId> regions = ir::RunningRegions(function);
    const ir::RangeLookup ranges = module.Ranges();
    Simplifier simplifier(&function, ranges);
    for (auto region = regions.rbegin(); region != regions.rend(); ++region) simplifier.Region(*region);
  }
  return {};
}

}  // namespace tvmvm::passes
