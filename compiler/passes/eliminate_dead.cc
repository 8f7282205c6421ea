// Dead code: a node stays when one of its results, or a symbol that it defines, is used by what stays. Known
// contents are no use: with a symbol of theirs they are no longer known.

#include <algorithm>
#include <set>

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

class Liveness {
 public:
  explicit Liveness(Function* function) : function_(*function) {}

  void Run() {
    MarkTypes(function_.region(function_.body).parameters);
    Sweep(function_.body);
    for (ir::Value& value : function_.values)
      if (value.elements && std::ranges::any_of(*value.elements, [&](const ir::Dim& d) { return IsGone(d); }))
        value.elements.reset();
  }

 private:
  void MarkDim(const ir::Dim& dim) { CollectSymbols(dim, &symbols_); }
  bool IsGone(const ir::Dim& dim) const { return MentionsAny(dim, gone_); }

  void MarkType(const ir::Type& type) {
    for (const ir::Dim& dim : type.dims) MarkDim(dim);
    for (const ir::Type& element : type.elements) MarkType(element);
  }

  void MarkTypes(const std::vector<ValueId>& values) {
    for (ValueId value : values) MarkType(function_.type(value));
  }

  bool IsLive(const Node& node) const {
    for (ValueId output : node.outputs)
      if (output.valid() && live_.count(output)) return true;
    const std::vector<ir::SymbolId> symbols = ir::DefinedSymbols(function_, node);
    for (const ir::SymbolId& symbol : symbols)
      if (symbols_.contains(symbol)) return true;
    // A check: it gives nothing but the error.
    if (node.op->kind == ir::OpKind::kRequire || node.op->kind == ir::OpKind::kCheck) return true;
    if (node.op->kind == ir::OpKind::kHost && node.outputs.empty() && symbols.empty()) return true;
    return false;
  }

  void MarkUses(const Node& node) {
    for (ValueId input : node.inputs)
      if (input.valid()) live_.insert(input);
    for (ValueId output : node.outputs)
      if (output.valid()) MarkType(function_.type(output));
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* dim = std::get_if<ir::Dim>(&attribute)) MarkDim(*dim);
      if (const auto* dims = std::get_if<ir::Dims>(&attribute))
        for (const ir::Dim& dim : *dims) MarkDim(dim);
    }
    for (RegionId region : node.regions) Sweep(region);
  }

  // Nodes are in execution order: one backward sweep sees every use before the definition.
  void Sweep(RegionId id) {
    for (ValueId result : function_.region(id).results)
      if (result.valid()) live_.insert(result);
    MarkTypes(function_.region(id).results);
    std::vector<NodeId> kept;
    const std::vector<NodeId> nodes = function_.region(id).nodes;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (!IsLive(function_.node(*node))) {
        for (ir::SymbolId& symbol : ir::DefinedSymbols(function_, function_.node(*node)))
          gone_.insert(std::move(symbol));
        continue;
      }
      MarkUses(function_.node(*node));
      kept.push_back(*node);
    }
    function_.region(id).nodes.assign(kept.rbegin(), kept.rend());
  }

  Function& function_;
  std::set<ValueId> live_;
  ir::SymbolSet symbols_, gone_;  // used; defined by what is taken out
};

}  // namespace

Status EliminateDead(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) DropDead(&function);
  return {};
}

void DropDead(Function* function) { Liveness(function).Run(); }

}  // namespace tvmvm::passes
