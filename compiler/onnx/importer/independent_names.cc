#include "compiler/onnx/importer/independent_names.h"

namespace tvmvm::ir {
namespace {

bool IsGradient(const OnnxNode& node) {
  return node.domain == "ai.onnx.preview.training" && node.op_type == "Gradient";
}

void Collect(const std::vector<OnnxNode>& nodes, std::set<std::string>* names) {
  for (const OnnxNode& node : nodes) {
    bool is_gradient = IsGradient(node);
    for (const auto& [name, attribute] : node.attributes) {
      if (is_gradient) names->insert(attribute.texts.begin(), attribute.texts.end());
      if (attribute.graph != nullptr) Collect(attribute.graph->nodes, names);
      for (const auto& graph : attribute.graphs) Collect(graph->nodes, names);
    }
  }
}

}  // namespace

std::set<std::string> IndependentNames(const OnnxModel& model) {
  std::set<std::string> names;
  Collect(model.graph.nodes, &names);
  for (const OnnxFunction& function : model.functions) Collect(function.nodes, &names);
  return names;
}

std::vector<std::string_view> NamesInAttributes(const OnnxNode& node) {
  if (!IsGradient(node)) return {};
  std::vector<std::string_view> names;
  for (const auto& [name, attribute] : node.attributes) {
    if (!attribute.text.empty()) names.push_back(attribute.text);
    names.insert(names.end(), attribute.texts.begin(), attribute.texts.end());
  }
  return names;
}

}  // namespace tvmvm::ir
