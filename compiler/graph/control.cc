#include "compiler/graph/control.h"

#include "compiler/graph/core_op.h"

namespace tvmvm::ir {

bool IsIf(const Node& node) { return node.op->kind == OpKind::kIf; }

bool IsLoop(const Node& node) { return node.op->kind == OpKind::kLoop; }

bool HasControlRegions(const Node& node) { return IsIf(node) || IsLoop(node); }

const Dim& DimAttribute(const Node& node, std::string_view name) { return std::get<Dim>(*node.Find(name)); }

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

SymbolSet ParameterSymbols(const Function& function) {
  SymbolSet symbols;
  for (ValueId parameter : function.region(function.body).parameters)
    for (const Dim& dim : function.type(parameter).dims) CollectSymbols(dim, &symbols);
  return symbols;
}

std::vector<SymbolId> DefinedSymbols(const Function& function, const Node& node) {
  if (IsLoop(node)) {
    std::vector<SymbolId> symbols = node.Symbols("finals");
    if (!node.Symbol("count").is_none()) symbols.push_back(node.Symbol("count"));
    return symbols;
  }
  std::vector<SymbolId> symbols = node.Symbols("symbols");
  if (node.op->kind != OpKind::kHost && node.op->kind != OpKind::kCall) return symbols;
  for (ValueId output : node.outputs)
    if (output.valid())
      for (const Dim& dim : function.type(output).dims)
        if (dim.is_symbol()) symbols.push_back(dim.symbol());
  return symbols;
}

std::vector<SymbolId> RegionSymbols(const Node& loop) {
  std::vector<SymbolId> symbols = loop.Symbols("symbols");
  symbols.push_back(loop.Symbol("index"));
  return symbols;
}

bool NamesSymbols(const CoreOp& op, std::string_view attribute) {
  if (attribute == "symbols") return true;
  return op.kind == OpKind::kLoop && (attribute == "finals" || attribute == "index" || attribute == "count");
}

Dim SimplifyInLoop(const Dim& dim, const Node& loop, const RangeLookup& ranges) {
  static const SymbolId kRest("steps after this one");  // no symbol of a module has this name
  const Dim& trip = DimAttribute(loop, "trip");
  if (!trip.is_symbol()) return Simplify(dim, ranges);
  // With trip = index + 1 + rest, rest >= 0, the facts about the two are facts about symbols.
  Dim index = Dim::Symbol(loop.Symbol("index"));
  auto replace = [](const SymbolId& wanted, const Dim& by) {
    return [&wanted, by](const SymbolId& symbol) {
      return symbol == wanted ? std::optional<Dim>(by) : std::nullopt;
    };
  };
  Dim written = Substitute(dim, replace(trip.symbol(), index + 1 + Dim::Symbol(kRest)));
  auto with_rest = [&](const SymbolId& symbol) {
    return symbol == kRest ? DimRange{0, INT64_MAX / 4} : ranges(symbol);
  };
  Dim simple = Substitute(Simplify(written, with_rest), replace(kRest, trip - 1 - index));
  return simple.size() < dim.size() ? simple : dim;
}

bool BelongsToRegion(const Node& node, std::string_view attribute) {
  if (IsLoop(node)) return attribute == "continue" || attribute == "next";
  return IsIf(node) && (attribute == "then_values" || attribute == "else_values");
}

uint32_t DeviceOf(const Function& function, const Node& node) {
  for (ValueId output : node.outputs)
    if (output.valid()) return function.value(output).device;
  if (node.op->kind == OpKind::kCheck) return function.value(node.inputs[0]).device;
  return kHostDevice;
}

}  // namespace tvmvm::ir
