#include "compiler/passes/group_builder.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/tensor_elements.h"

namespace tvmvm::passes {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::RegionId;
using ir::ValueId;

bool IsAnchor(const Node& node) { return IsProduct(*node.op) || node.op->kind == OpKind::kWindow; }

bool IsLaunched(const Node& node) {
  // A concat in the memory of its first input is copies.
  if (node.decided.in_place && node.op->traits.axes == ir::AxisMap::kConcat) return false;
  return IsAnchor(node) || node.op->kind == OpKind::kElementwise || node.op->kind == OpKind::kMovement ||
         node.op->kind == OpKind::kReduce;
}

bool IsFree(const Node& node) {
  if (node.op->traits.free) return true;
  if (node.op->kind != OpKind::kConstant) return false;
  const ir::TensorData* data = node.Data("data");
  return data != nullptr && ir::IsNumeric(data->dtype) && data->element_count() == 1;
}

bool DecodesConstants(const Function& function, const Node& node) {
  return node.op->traits.decodes && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
           return !input.valid() || function.ConstantOf(input) != nullptr;
         });
}

namespace {

class GroupBuilder {
 public:
  GroupBuilder(Function* function, std::vector<NodeId> members, bool clones)
      : function_(*function), members_(std::move(members)), clones_(clones), region_(function_.AddRegion()) {
    fused_.op = &ir::GetCoreOp("fused");
    fused_.regions = {region_};
  }

  NodeId Build(const std::vector<NodeId>& leaving) {
    device_ = ir::DeviceOf(function_, function_.node(leaving.back()));
    for (NodeId node : leaving) Leave(node);
    for (NodeId member : members_) {
      std::vector<ValueId> inputs = function_.node(member).inputs;
      for (ValueId& input : inputs) input = Import(input);
      function_.node(member).inputs = std::move(inputs);
      function_.region(region_).nodes.push_back(member);
      AddSource(function_.node(member).source);
    }
    return function_.AddNode(std::move(fused_));
  }

 private:
  // Outside keeps the ids of the results; inside gets new ones.
  void Leave(NodeId node) {
    std::vector<ValueId> outputs = function_.node(node).outputs;
    for (ValueId& output : outputs) {
      fused_.outputs.push_back(output);
      output = inner_[output] = CopyValue(output, node);
      function_.region(region_).results.push_back(output);
    }
    function_.node(node).outputs = outputs;
  }

  ValueId CopyValue(ValueId value, NodeId producer) {
    ir::Value copy = function_.value(value);
    copy.producer = producer;
    copy.device = device_;
    function_.values.push_back(std::move(copy));
    return ValueId{static_cast<uint32_t>(function_.values.size() - 1)};
  }

  // The value as seen inside: itself, a copy of what is free to compute again, or a parameter.
  ValueId Import(ValueId value) {
    if (!value.valid()) return value;
    if (auto found = inner_.find(value); found != inner_.end()) return found->second;
    NodeId producer = function_.value(value).producer;
    if (producer.valid() && std::find(members_.begin(), members_.end(), producer) != members_.end())
      return value;
    if (producer.valid() && IsTaken(function_.node(producer))) return inner_[value] = Clone(producer);
    ValueId parameter = CopyValue(value, NodeId{});
    function_.region(region_).parameters.push_back(parameter);
    fused_.inputs.push_back(value);
    return inner_[value] = parameter;
  }

  bool IsTaken(const Node& producer) const {
    if (DecodesConstants(function_, producer)) return true;
    if (!IsFree(producer)) return false;
    return !IsLaunched(producer) || (clones_ && ir::DeviceOf(function_, producer) == device_);
  }

  ValueId Clone(NodeId producer) {
    Node copy = function_.node(producer);
    for (ValueId& input : copy.inputs) input = Import(input);
    copy.outputs = {CopyValue(copy.outputs[0], NodeId{})};
    ValueId output = copy.outputs[0];
    function_.region(region_).nodes.push_back(function_.AddNode(std::move(copy)));
    return output;
  }

  void AddSource(const std::string& source) {
    constexpr size_t kLongest = 200;
    if (source.empty() || fused_.source.size() > kLongest || fused_.source.find(source) != std::string::npos)
      return;
    fused_.source += (fused_.source.empty() ? "" : ", ") + source;
  }

  Function& function_;
  std::vector<NodeId> members_;  // in execution order
  bool clones_;
  RegionId region_;
  uint32_t device_ = kHostDevice;
  Node fused_;
  std::map<ValueId, ValueId> inner_;
};

}  // namespace

NodeId BuildGroup(Function* function, std::vector<NodeId> members, const std::vector<NodeId>& leaving,
                  bool clones) {
  return GroupBuilder(function, std::move(members), clones).Build(leaving);
}

}  // namespace tvmvm::passes
