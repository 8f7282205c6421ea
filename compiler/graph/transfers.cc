// What a loop does not change is copied before it. A view is not copied but taken again of the copy. Where
// one value goes to the CPU, for which the host waits, the others that later nodes of the region need there
// and that are made by then go with it.
#include "compiler/graph/transfers.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::ir {
namespace {

struct Need {
  ValueId value;
  uint32_t device;
  friend auto operator<=>(const Need&, const Need&) = default;
};

class Inserter {
 public:
  Inserter(Function* function, const lowering::Views& views)
      : function_(*function), views_(views), devices_(DeviceCount(*function)) {}

  void Run() {
    Gather(function_.body, nullptr);
    Region(function_.body, nullptr);
  }

 private:
  void Region(RegionId id, const Node* owner) {
    for (ValueId parameter : function_.region(id).parameters) open_.insert(parameter);
    std::vector<NodeId> nodes;
    const std::vector<NodeId> before = function_.region(id).nodes;
    for (size_t i = 0; i < before.size(); ++i) {
      const NodeId node = before[i];
      std::set<Need> needs;
      Collect(node, &needs);
      bool waits = false;
      for (const Need& need : needs)
        if (Copy(need, function_.node(node).source, &nodes)) waits |= need.device == kHostDevice;
      if (waits) CopyWithIt(std::span(before).subspan(i + 1), &nodes);
      Rewrite(node);
      nodes.push_back(node);
      if (IsView(node)) CopyView(node, &nodes);
      for (ValueId output : function_.node(node).outputs)
        if (output.valid()) open_.insert(output);
    }
    Results(id, owner, &nodes);
    function_.region(id).nodes = std::move(nodes);
  }

  // What later nodes need on the CPU and what is made already. Not far ahead: its memory is held until then.
  void CopyWithIt(std::span<const NodeId> later, std::vector<NodeId>* nodes) {
    constexpr size_t kLook = 64;
    for (NodeId node : later.first(std::min(later.size(), kLook))) {
      std::set<Need> needs;
      Collect(node, &needs);
      for (const Need& need : needs)
        if (need.device == kHostDevice) Copy(need, function_.node(node).source, nodes);
    }
  }

  bool IsView(NodeId id) const { return lowering::Views::IsView(function_, function_.node(id)); }

  // Everything that is needed anywhere, so that views know whether they are.
  void Gather(RegionId id, const Node* owner) {
    for (NodeId node : function_.region(id).nodes) {
      if (!IsView(node)) Collect(node, &needs_);
      for (RegionId inner : function_.node(node).regions)
        if (HasControlRegions(function_.node(node))) Gather(inner, &function_.node(node));
    }
    const std::vector<ValueId>& results = function_.region(id).results;
    for (size_t i = 0; i < results.size(); ++i) AddNeed(results[i], ResultDevice(owner, i), &needs_);
    if (owner != nullptr) return;
    for (const Need& need : std::set<Need>(needs_)) {
      ValueId value = need.value;
      for (NodeId made = function_.value(value).producer; made.valid() && IsView(made);
           made = function_.value(value).producer) {
        value = function_.node(made).inputs[0];
        needs_.insert({value, need.device});
      }
    }
  }

  bool HasDevice(ValueId value) const {
    return value.valid() && function_.ConstantOf(views_.PlaceOf(value).root) == nullptr;
  }

  // The device on which a node wants an input.
  uint32_t Wanted(const Node& node, size_t input) const {
    if (IsLoop(node)) return function_.value(function_.region(node.regions[0]).parameters[input]).device;
    return DeviceOf(function_, node);
  }

  void AddNeed(ValueId value, uint32_t device, std::set<Need>* needs) const {
    if (HasDevice(value) && function_.value(value).device != device) needs->insert({value, device});
  }

  // Everything that the node and the nodes of its regions need from other devices.
  void Collect(NodeId id, std::set<Need>* needs) const {
    const Node& node = function_.node(id);
    if (node.op->kind == OpKind::kRequire) return;
    if (IsView(id)) {
      for (uint32_t device = 0; device < devices_; ++device)
        if (needs_.contains({node.outputs[0], device})) AddNeed(node.inputs[0], device, needs);
      return;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) AddNeed(node.inputs[i], Wanted(node, i), needs);
    if (!HasControlRegions(node)) return;
    for (RegionId region : node.regions) {
      for (NodeId inner : function_.region(region).nodes) Collect(inner, needs);
      const std::vector<ValueId>& results = function_.region(region).results;
      for (size_t i = 0; i < results.size(); ++i)
        AddNeed(results[i], function_.value(ResultPlace(node, i)).device, needs);
    }
  }

  uint32_t ResultDevice(const Node* owner, size_t number) const {
    return owner == nullptr ? kHostDevice : function_.value(ResultPlace(*owner, number)).device;
  }

  // Where the result of a region goes.
  ValueId ResultPlace(const Node& node, size_t number) const {
    if (IsLoop(node) && number < CarriedCount(node))
      return function_.region(node.regions[0]).parameters[number];
    return node.outputs[number];
  }

  // Only where the value is made; the regions inside use what was copied here.
  // False: it is there, or is not made here.
  bool Copy(const Need& need, const std::string& source, std::vector<NodeId>* nodes) {
    if (!open_.contains(need.value) || copies_.contains(need)) return false;
    const ValueId value = NewValue(need);
    Node node;
    node.op = &GetCoreOp("transfer");
    node.inputs = {need.value};
    node.outputs = {value};
    node.source = source;
    nodes->push_back(function_.AddNode(std::move(node)));
    return true;
  }

  void CopyView(NodeId id, std::vector<NodeId>* nodes) {
    const ValueId output = function_.node(id).outputs[0];
    if (!HasDevice(output)) return;
    for (uint32_t device = 0; device < devices_; ++device) {
      const Need need{output, device};
      if (device == function_.value(output).device || !needs_.contains(need)) continue;
      Node node = function_.node(id);
      node.inputs = {On(node.inputs[0], device)};
      node.outputs = {NewValue(need)};
      nodes->push_back(function_.AddNode(std::move(node)));
    }
  }

  ValueId NewValue(const Need& need) {
    Value copy = function_.value(need.value);
    const ValueId value = function_.AddValue(copy.type, copy.name);
    function_.value(value).device = need.device;
    function_.value(value).elements = copy.elements;
    copies_[need] = value;
    open_.insert(value);
    return value;
  }

  ValueId On(ValueId value, uint32_t device) const {
    if (!HasDevice(value) || function_.value(value).device == device) return value;
    return copies_.at({value, device});
  }

  void Rewrite(NodeId id) {
    if (function_.node(id).op->kind == OpKind::kRequire || IsView(id)) return;
    for (size_t i = 0; i < function_.node(id).inputs.size(); ++i)
      function_.node(id).inputs[i] = On(function_.node(id).inputs[i], Wanted(function_.node(id), i));
    if (!HasControlRegions(function_.node(id))) return;
    const std::vector<RegionId> regions = function_.node(id).regions;
    for (RegionId region : regions) {
      const Node owner = function_.node(id);  // nodes move while others are added
      Region(region, &owner);
    }
  }

  void Results(RegionId id, const Node* owner, std::vector<NodeId>* nodes) {
    const std::vector<ValueId> results = function_.region(id).results;
    for (size_t i = 0; i < results.size(); ++i) {
      const uint32_t device = ResultDevice(owner, i);
      std::set<Need> needs;
      AddNeed(results[i], device, &needs);
      for (const Need& need : needs) Copy(need, owner == nullptr ? "" : owner->source, nodes);
      function_.region(id).results[i] = On(results[i], device);
    }
  }

  Function& function_;
  const lowering::Views& views_;
  const uint32_t devices_;
  std::set<Need> needs_;    // of the whole function
  std::set<ValueId> open_;  // made so far
  std::map<Need, ValueId> copies_;
};

}  // namespace

void InsertTransfers(Function* function, const lowering::Views& views) { Inserter(function, views).Run(); }

void RemoveTransfers(Function* function) {
  std::map<ValueId, ValueId> originals;  // by their copies
  auto restore = [&](ValueId& value) {
    if (auto found = originals.find(value); found != originals.end()) value = found->second;
  };
  for (RegionId region : RunningRegions(*function)) {
    const Node* before = nullptr;
    std::erase_if(function->region(region).nodes, [&](NodeId id) {
      Node& node = function->node(id);
      std::ranges::for_each(node.inputs, restore);
      if (node.op->kind == OpKind::kTransfer) {
        originals[node.outputs[0]] = node.inputs[0];
        return true;
      }
      // A view that was taken of the copy, too, stands behind the first one.
      const bool is_again = before != nullptr && lowering::Views::IsView(*function, node) &&
                            before->op == node.op && before->inputs == node.inputs &&
                            before->attributes == node.attributes;
      if (is_again) originals[node.outputs[0]] = before->outputs[0];
      if (!is_again) before = &node;
      return is_again;
    });
  }
  for (Region& region : function->regions) std::ranges::for_each(region.results, restore);
  // Views of a copy are views of the value now.
  const lowering::Views views(*function);
  for (size_t i = 0; i < function->values.size(); ++i) {
    const ValueId value{static_cast<uint32_t>(i)};
    if (ValueId root = views.PlaceOf(value).root; !(root == value))
      function->value(value).device = function->value(root).device;
  }
}

}  // namespace tvmvm::ir
