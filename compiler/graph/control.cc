#include "compiler/graph/control.h"

#include "compiler/graph/core_op.h"

namespace tvmvm::ir {

bool IsIf(const Node& node) { return node.op->kind == OpKind::kIf; }

bool IsLoop(const Node& node) { return node.op->kind == OpKind::kLoop; }

bool HasControlRegions(const Node& node) { return IsIf(node) || IsLoop(node); }

const Dim& DimAttribute(const Node& node, std::string_view name) { return std::get<Dim>(*node.Find(name)); }

const std::vector<std::string>& SymbolList(const Node& node, std::string_view name) {
  static const std::vector<std::string> none;
  const Attribute* attribute = node.Find(name);
  const auto* list = attribute ? std::get_if<std::vector<std::string>>(attribute) : nullptr;
  return list ? *list : none;
}

std::vector<ValueId> UsesOf(const Function& function, const Node& node) {
  std::vector<ValueId> uses;
  for (ValueId input : node.inputs)
    if (input.valid()) uses.push_back(input);
  for (RegionId id : node.regions) {
    const Region& region = function.region(id);
    for (NodeId inner : region.nodes) {
      std::vector<ValueId> more = UsesOf(function, function.node(inner));
      uses.insert(uses.end(), more.begin(), more.end());
    }
    for (ValueId result : region.results)
      if (result.valid()) uses.push_back(result);
  }
  return uses;
}

std::vector<RegionId> RunningRegions(const Function& function) {
  std::vector<RegionId> regions{function.body};
  for (size_t i = 0; i < regions.size(); ++i)
    for (NodeId id : function.region(regions[i]).nodes)
      if (const Node& node = function.node(id); HasControlRegions(node))
        regions.insert(regions.end(), node.regions.begin(), node.regions.end());
  return regions;
}

std::vector<std::string> DefinedSymbols(const Function& function, const Node& node) {
  if (IsLoop(node)) {
    std::vector<std::string> names = SymbolList(node, "finals");
    if (!node.String("count").empty()) names.push_back(node.String("count"));
    return names;
  }
  std::vector<std::string> names = SymbolList(node, "symbols");
  if (node.op->kind != OpKind::kHost && node.op->kind != OpKind::kCall) return names;
  for (ValueId output : node.outputs)
    if (output.valid())
      for (const Dim& dim : function.type(output).dims)
        if (dim.is_symbol()) names.push_back(dim.symbol());
  return names;
}

std::vector<std::string> RegionSymbols(const Node& loop) {
  std::vector<std::string> names = SymbolList(loop, "symbols");
  names.push_back(loop.String("index"));
  return names;
}

Dim SimplifyInLoop(const Dim& dim, const Node& loop, const RangeLookup& ranges) {
  static const std::string kRest = "steps after this one";  // no symbol of a module has this name
  const Dim& trip = DimAttribute(loop, "trip");
  if (!trip.is_symbol()) return Simplify(dim, ranges);
  // With trip = index + 1 + rest, rest >= 0, the facts about the two are facts about symbols.
  Dim index = Dim::Symbol(loop.String("index"));
  auto replace = [](const std::string& name, const Dim& by) {
    return [&name, by](const std::string& symbol) {
      return symbol == name ? std::optional<Dim>(by) : std::nullopt;
    };
  };
  Dim written = Substitute(dim, replace(trip.symbol(), index + 1 + Dim::Symbol(kRest)));
  auto with_rest = [&](const std::string& symbol) {
    return symbol == kRest ? DimRange{0, INT64_MAX / 4} : ranges(symbol);
  };
  Dim simple = Substitute(Simplify(written, with_rest), replace(kRest, trip - 1 - index));
  return simple.size() < dim.size() ? simple : dim;
}

bool BelongsToRegion(const Node& node, std::string_view attribute) {
  if (IsLoop(node)) return attribute == "continue" || attribute == "next";
  return IsIf(node) && (attribute == "then_values" || attribute == "else_values");
}

DeviceClass DeviceOf(const Function& function, const Node& node) {
  for (ValueId output : node.outputs)
    if (output.valid()) return function.value(output).device;
  if (node.op->kind == OpKind::kCheck) return function.value(node.inputs[0]).device;
  return DeviceClass::kCpu;
}

}  // namespace tvmvm::ir
