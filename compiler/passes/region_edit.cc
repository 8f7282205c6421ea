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
    for (const std::string& symbol : ir::RegionSymbols(owner)) symbols_.insert(symbol);
  Add(function, region);
}

void RegionDefinitions::Add(const Function& function, RegionId id) {
  const ir::Region& region = function.region(id);
  values_.insert(region.parameters.begin(), region.parameters.end());
  for (NodeId node_id : region.nodes) {
    const Node& node = function.node(node_id);
    values_.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string& symbol : ir::DefinedSymbols(function, node)) symbols_.insert(symbol);
    if (ir::IsLoop(node))
      for (const std::string& symbol : ir::RegionSymbols(node)) symbols_.insert(symbol);
    for (RegionId inner : node.regions) Add(function, inner);
  }
}

bool RegionDefinitions::Mentions(const Dim& dim) const {
  std::vector<std::string> symbols;
  CollectSymbols(dim, &symbols);
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](const std::string& symbol) { return symbols_.count(symbol) != 0; });
}

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
  for (const std::string& symbol : ir::DefinedSymbols(function, node)) symbols_.erase(symbol);
}

void ReplaceUses(Function* function, ValueId from, ValueId to) {
  for (Node& node : function->nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  for (ir::Region& region : function->regions)
    std::replace(region.results.begin(), region.results.end(), from, to);
}

std::vector<int> CountUses(const Function& function) {
  std::vector<int> uses(function.values.size(), 0);
  auto count = [&](ValueId value) {
    if (value.valid()) ++uses[value.index];
  };
  for (RegionId id : ir::RunningRegions(function)) {
    const ir::Region& region = function.region(id);
    for (NodeId node : region.nodes) {
      for (ValueId input : function.node(node).inputs) count(input);
      if (ir::HasControlRegions(function.node(node))) continue;  // their regions are visited themselves
      for (RegionId inner : function.node(node).regions) {
        for (NodeId fused : function.region(inner).nodes)
          for (ValueId input : function.node(fused).inputs) count(input);
        for (ValueId result : function.region(inner).results) count(result);
      }
    }
    for (ValueId result : region.results) count(result);
  }
  return uses;
}

bool IsMentioned(const Function& function, const std::string& symbol) {
  auto in_dim = [&](const Dim& dim) {
    std::vector<std::string> symbols;
    CollectSymbols(dim, &symbols);
    return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
  };
  auto in_node = [&](const Node& node) {
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* dim = std::get_if<Dim>(&attribute); dim && in_dim(*dim)) return true;
      if (const auto* dims = std::get_if<ir::Dims>(&attribute); dims && std::ranges::any_of(*dims, in_dim))
        return true;
    }
    return std::ranges::any_of(node.outputs, [&](ValueId output) {
      return output.valid() && std::ranges::any_of(function.type(output).dims, in_dim);
    });
  };
  for (RegionId region : ir::RunningRegions(function))
    for (NodeId id : function.region(region).nodes)
      if (in_node(function.node(id))) return true;
  return false;
}

}  // namespace tvmvm::passes
