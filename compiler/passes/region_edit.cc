#include "compiler/passes/region_edit.h"

#include <algorithm>

#include "compiler/graph/control.h"

namespace tvmvm::passes {

using ir::Dim;
using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

RegionDefinitions::RegionDefinitions(const Function& function, const Node& owner, RegionId region) {
  if (ir::IsLoop(owner))
    for (const ir::SymbolId& symbol : ir::RegionSymbols(owner)) symbols_.insert(symbol);
  Add(function, region);
}

void RegionDefinitions::Add(const Function& function, RegionId id) {
  const ir::Region& region = function.region(id);
  values_.insert(region.parameters.begin(), region.parameters.end());
  for (NodeId node_id : region.nodes) {
    const Node& node = function.node(node_id);
    values_.insert(node.outputs.begin(), node.outputs.end());
    for (const ir::SymbolId& symbol : ir::DefinedSymbols(function, node)) symbols_.insert(symbol);
    if (ir::IsLoop(node))
      for (const ir::SymbolId& symbol : ir::RegionSymbols(node)) symbols_.insert(symbol);
    for (RegionId inner : node.regions) Add(function, inner);
  }
}

bool RegionDefinitions::Mentions(const Dim& dim) const { return MentionsAny(dim, symbols_); }

bool RegionDefinitions::Needed(const Function& function, const Node& node) const {
  auto mentions = [&](const ir::Dims& dims) {
    return std::any_of(dims.begin(), dims.end(), [&](const Dim& dim) { return Mentions(dim); });
  };
  for (ValueId input : node.inputs)
    if (input.valid() && Defines(input)) return true;
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* dim = std::get_if<Dim>(&attribute); dim && Mentions(*dim)) return true;
    if (const auto* dims = std::get_if<ir::Dims>(&attribute); dims && mentions(*dims)) return true;
  }
  for (ValueId output : node.outputs) {
    if (!output.valid()) continue;
    if (mentions(function.type(output).dims)) return true;
    if (const auto& elements = function.value(output).elements; elements && mentions(*elements)) return true;
  }
  return false;
}

void RegionDefinitions::MoveOut(const Function& function, const Node& node) {
  for (ValueId output : node.outputs) values_.erase(output);
  for (const ir::SymbolId& symbol : ir::DefinedSymbols(function, node)) symbols_.erase(symbol);
}

// ---- uses ----

UseLists::UseLists(Function* function) : function_(*function), uses_(function->values.size()) {
  AddRegion(function->body);
}

void UseLists::AddUse(ValueId value, User user) {
  if (!value.valid()) return;
  if (value.index >= uses_.size()) uses_.resize(function_.values.size());
  Uses& uses = uses_[value.index];
  ++uses.count;
  uses.users.push_back(user);
}

void UseLists::AddRegion(RegionId region) {
  for (NodeId node : function_.region(region).nodes) Add(node);
  for (ValueId result : function_.region(region).results) AddUse(result, {true, region.index});
}

void UseLists::Add(NodeId node) {
  for (ValueId input : function_.node(node).inputs) AddUse(input, {false, node.index});
  for (RegionId region : function_.node(node).regions) AddRegion(region);
}

void UseLists::Replace(ValueId from, ValueId to) {
  if (from == to || from.index >= uses_.size()) return;
  if (to.index >= uses_.size()) uses_.resize(function_.values.size());
  Uses &old = uses_[from.index], &now = uses_[to.index];
  for (const User& user : old.users) {
    std::vector<ValueId>& list =
        user.is_region ? function_.regions[user.index].results : function_.nodes[user.index].inputs;
    std::replace(list.begin(), list.end(), from, to);
  }
  if (now.users.size() < old.users.size()) now.users.swap(old.users);
  now.users.insert(now.users.end(), old.users.begin(), old.users.end());
  now.count += old.count;
  old = {};
}

void UseLists::Drop(ValueId value) {
  if (value.valid()) --uses_[value.index].count;
}

void UseLists::DropRegion(RegionId region) {
  for (NodeId id : function_.region(region).nodes) {
    for (ValueId input : function_.node(id).inputs) Drop(input);
    for (RegionId inner : function_.node(id).regions) DropRegion(inner);
  }
  for (ValueId result : function_.region(region).results) Drop(result);
}

// ---- symbols ----

namespace {

class Mentions {
 public:
  explicit Mentions(const Function& function) : function_(function) { AddRegion(function.body); }
  ir::SymbolSet Take() { return std::move(symbols_); }

 private:
  void AddRegion(RegionId region) {
    for (NodeId id : function_.region(region).nodes) {
      const Node& node = function_.node(id);
      for (const auto& [name, attribute] : node.attributes) {
        if (const auto* dim = std::get_if<Dim>(&attribute)) Add(*dim);
        if (const auto* dims = std::get_if<ir::Dims>(&attribute)) Add(*dims);
      }
      for (ValueId output : node.outputs)
        if (output.valid()) Add(function_.type(output).dims);
      for (RegionId inner : node.regions) AddRegion(inner);
    }
  }

  void Add(const ir::Dims& dims) {
    for (const Dim& dim : dims) Add(dim);
  }

  void Add(const Dim& dim) { CollectSymbols(dim, &symbols_); }

  const Function& function_;
  ir::SymbolSet symbols_;
};

}  // namespace

ir::SymbolSet MentionedSymbols(const Function& function) { return Mentions(function).Take(); }

}  // namespace tvmvm::passes
