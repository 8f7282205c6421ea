#include <algorithm>
#include <optional>

#include "compiler/onnx/importer/importer.h"

namespace tvmvm::ir {

bool Importer::ReadsUnranked(const OnnxNode& node, const Scope& scope) const {
  return std::ranges::any_of(node.inputs, [&](const std::string& input) {
    const std::optional<ValueId>* found = input.empty() ? nullptr : scope.Find(input);
    return found != nullptr && found->has_value() && (*found)->valid() && IsUnranked(builder_.type(**found));
  });
}

// Operators that need to know ranks, without subgraphs.
bool Importer::MayJoinRegion(const OnnxNode& node, const Scope& scope) const {
  if (FindFunction(node) != nullptr) return false;
  for (const auto& [name, attribute] : node.attributes)
    if (attribute.graph != nullptr || attribute.kind == OnnxAttribute::Kind::kGraphs) return false;
  for (const std::string& output : node.outputs)
    if (independent_names_.contains(output) || scope.values.contains(output)) return false;
  const OnnxOp* row = ChooseOperator(node, {}, *scope.opsets, model_.opset_imports).row;
  return row != nullptr && !row->takes_any_value();
}

RankRegionImporter Importer::RegionImporter(const std::vector<OnnxNode>& nodes, Scope* scope,
                                            std::vector<bool>* done) {
  RankRegionImporter importer;
  importer.keep_all_values = options_.keep_all_values;
  importer.find = [scope](const std::string& name) {
    const std::optional<ValueId>* found = scope->Find(name);
    return found == nullptr ? std::nullopt : *found;
  };
  importer.may_join = [this, scope](const OnnxNode& node) { return MayJoinRegion(node, *scope); };
  importer.lower = [this, scope](const OnnxNode& node,
                                 const std::vector<ValueId>& inputs) -> std::optional<std::vector<ValueId>> {
    const ImportReport report = report_;
    const std::map<std::string, int> unnamed = unnamed_;
    Scope branch;
    branch.outer = scope;
    branch.order = scope->order;
    branch.opsets = scope->opsets;
    branch.arguments = scope->arguments;
    branch.prefix = scope->prefix;
    branch.depth = scope->depth;
    ++node_count_;
    ImportOperator(node, NodeName(node, *scope), inputs, &branch);
    unnamed_ = unnamed;
    std::vector<ValueId> outputs;
    for (const std::string& output : node.outputs) {
      const auto made = branch.values.find(output);
      if (!output.empty() && (made == branch.values.end() || !made->second)) {
        report_ = report;
        return std::nullopt;
      }
      outputs.push_back(output.empty() ? ValueId() : *made->second);
    }
    return outputs;
  };
  importer.import_before = [this, &nodes, scope, done](size_t index) {
    if (!ImportNode(nodes[index], scope)) return false;
    (*done)[index] = true;
    return true;
  };
  importer.abandon = [this, unnamed = unnamed_] { unnamed_ = unnamed; };
  importer.joined = [this, scope](const OnnxNode& node) { NodeName(node, *scope); };
  importer.define = [this, scope](const std::string& name, ValueId value) {
    if (std::string& known = function().value(value).name; known.empty()) known = scope->prefix + name;
    scope->values.emplace(name, value);
  };
  return importer;
}

}  // namespace tvmvm::ir
