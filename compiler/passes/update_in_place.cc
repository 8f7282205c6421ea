// A carried value that a step changes in few places is changed where it lies, instead of being copied in
// every step: scatter's node gets `in_place` when the step's value of what it changes is not needed
// afterwards. The memory table then gives the carried value one place instead of two. A carried value that a
// step makes longer (a cache) gets the new rows behind the old ones: concat becomes tensor.append, whose
// memory grows geometrically.

#include <algorithm>

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

bool Uses(const Function& function, const Node& node, ValueId value) {
  std::vector<ValueId> uses = ir::UsesOf(function, node);
  return std::find(uses.begin(), uses.end(), value) != uses.end();
}

// Values that may share the memory of `value`: views of it in the same region, and of those.
std::vector<ValueId> Aliases(const Function& function, const Region& region, ValueId value) {
  std::vector<ValueId> aliases{value};
  for (NodeId id : region.nodes) {
    const Node& node = function.node(id);
    if (node.op->view_offset != nullptr &&
        std::find(aliases.begin(), aliases.end(), node.inputs[0]) != aliases.end())
      aliases.push_back(node.outputs[0]);
  }
  return aliases;
}

void UpdateCarried(Function* function, const Node& loop) {
  const Region& region = function->region(loop.regions[0]);
  for (size_t i = 0; i < ir::CarriedCount(loop); ++i) {
    NodeId producer = function->value(region.results[i]).producer;
    ValueId parameter = region.parameters[i];
    if (!producer.valid()) continue;
    Node& node = function->node(producer);
    if (!node.op->traits.updates || node.inputs[0] != parameter) continue;
    auto place = std::find(region.nodes.begin(), region.nodes.end(), producer);
    if (place == region.nodes.end()) continue;
    bool free = std::count(node.inputs.begin(), node.inputs.end(), parameter) == 1;
    for (ValueId alias : Aliases(*function, region, parameter)) {
      if (alias != parameter && std::count(node.inputs.begin(), node.inputs.end(), alias) > 0) free = false;
      for (auto later = place + 1; later != region.nodes.end(); ++later)
        free = free && !Uses(*function, function->node(*later), alias);
      free = free && std::find(region.results.begin(), region.results.end(), alias) == region.results.end();
    }
    // The same result for two carried values would have two places.
    free = free && std::count(region.results.begin(), region.results.end(), region.results[i]) == 1;
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
        if (ir::IsLoop(function.node(id))) {
          UpdateCarried(&function, Node(function.node(id)));
          AppendToCarried(&function, Node(function.node(id)));
        }
  return {};
}

}  // namespace tvmvm::passes
