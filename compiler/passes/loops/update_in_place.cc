// A carried value that a step changes in few places is changed where it lies, instead of being copied in
// every step: scatter's node gets `in_place` when the step's value of what it changes is not needed
// afterwards. The memory table then gives the carried value one place instead of two. A carried value that a
// step makes longer (a cache) gets the new rows behind the old ones: concat becomes tensor.append, whose
// memory grows geometrically.

#include "compiler/passes/loops/update_in_place.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::Region;
using ir::ValueId;

// What a loop's body uses, found once for all carried values.
class BodyUses {
 public:
  BodyUses(const Function& function, const Region& region) {
    for (size_t i = 0; i < region.nodes.size(); ++i) {
      const Node& node = function.node(region.nodes[i]);
      position_[region.nodes[i]] = i;
      for (ValueId value : ir::UsesOf(function, node)) last_[value] = i;
      if (node.op->view_offset != nullptr) views_[node.inputs[0]].push_back(node.outputs[0]);
    }
    for (ValueId result : region.results) ++results_[result];
  }

  bool Makes(NodeId node) const { return position_.contains(node); }
  bool IsUsedAfter(ValueId value, NodeId node) const {
    auto last = last_.find(value);
    return results_.contains(value) || (last != last_.end() && last->second > position_.at(node));
  }
  int CountResults(ValueId value) const {
    auto found = results_.find(value);
    return found == results_.end() ? 0 : found->second;
  }
  // Values that may share the memory of `value`: itself, views of it in the same region, and of those.
  std::vector<ValueId> Aliases(ValueId value) const {
    std::vector<ValueId> aliases{value};
    for (size_t i = 0; i < aliases.size(); ++i)
      if (auto found = views_.find(aliases[i]); found != views_.end())
        aliases.insert(aliases.end(), found->second.begin(), found->second.end());
    return aliases;
  }

 private:
  std::map<NodeId, size_t> position_;
  std::map<ValueId, size_t> last_;  // position of the last user
  std::map<ValueId, std::vector<ValueId>> views_;
  std::map<ValueId, int> results_;
};

// The node that makes the next value of a carried one by changing that in few places, if one does.
NodeId ScatterInto(const Function& function, const Region& region, size_t carried) {
  const NodeId producer = function.value(region.results[carried]).producer;
  if (!producer.valid()) return {};
  const Node& node = function.node(producer);
  return node.op->traits.updates && node.inputs[0] == region.parameters[carried] ? producer : NodeId();
}

void UpdateCarried(Function* function, const Node& loop) {
  const Region& region = function->region(loop.regions[0]);
  std::optional<BodyUses> uses;
  for (size_t i = 0; i < ir::CarriedCount(loop); ++i) {
    const NodeId producer = ScatterInto(*function, region, i);
    if (!producer.valid()) continue;
    if (!uses) uses.emplace(*function, region);
    if (!uses->Makes(producer)) continue;
    Node& node = function->node(producer);
    const ValueId parameter = region.parameters[i];
    bool free = std::count(node.inputs.begin(), node.inputs.end(), parameter) == 1;
    for (ValueId alias : uses->Aliases(parameter)) {
      if (alias != parameter && std::count(node.inputs.begin(), node.inputs.end(), alias) > 0) free = false;
      free = free && !uses->IsUsedAfter(alias, producer);
    }
    // The same result for two carried values would have two places.
    free = free && uses->CountResults(region.results[i]) == 1;
    if (free) node.decided.in_place = true;
  }
}

// Where the rows of a concat go behind those of a carried tensor: its axis has none but 1 before it.
bool Appends(const Function& function, const Node& node, ValueId parameter) {
  if (node.op->traits.axes != ir::AxisMap::kConcat || node.inputs.size() != 2 || node.inputs[0] != parameter)
    return false;
  const ir::Type& type = function.type(parameter);
  int64_t axis = node.Int("axis");
  bool leading = axis >= 0 && std::all_of(type.dims.begin(), type.dims.begin() + axis,
                                          [](const ir::Dim& dim) { return dim.IsConstant(1); });
  return leading && type.dtype != DType::kString && DTypeBits(type.dtype) % 8 == 0;
}

void AppendToCarried(Function* function, const Node& loop) {
  const Region& region = function->region(loop.regions[0]);
  for (size_t i = 0; i < ir::CarriedCount(loop); ++i) {
    NodeId producer = function->value(region.results[i]).producer;
    if (!producer.valid() || !Appends(*function, function->node(producer), region.parameters[i])) continue;
    Node& node = function->node(producer);
    node.attributes = {{"scalars", ir::Dims{node.Int("axis")}}};
    node.op = &ir::HostOp(HostFunctionId::kTensorAppend);
  }
}

}  // namespace

Status UpdateInPlace(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions)
    for (ir::RegionId region : ir::RunningRegions(function))
      for (NodeId id : function.region(region).nodes)
        if (ir::IsLoop(function.node(id))) UpdateLoopInPlace(&function, id);
  return {};
}

void UpdateLoopInPlace(Function* function, NodeId loop) {
  UpdateCarried(function, Node(function->node(loop)));
  AppendToCarried(function, Node(function->node(loop)));
}

}  // namespace tvmvm::passes
