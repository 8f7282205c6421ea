#include "compiler/onnx/importer/keep_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {
namespace {

void AddOutput(const std::string& name, OnnxGraph* graph) {
  const bool is_there =
      std::ranges::any_of(graph->outputs, [&](const OnnxValueInfo& output) { return output.name == name; });
  if (!is_there) graph->outputs.push_back({name, std::nullopt});
}

// Exporters call values after nodes: "/layer/MatMul" makes "/layer/MatMul_output_0".
bool IsCalledAfter(const std::string& value, const std::string& node) {
  return value.starts_with(node + "_output_") || value.starts_with(node + ":");
}

class Keeper {
 public:
  Keeper(const OnnxModel& model, std::string name) : model_(model), name_(std::move(name)) {}

  // The names under which the graph has what is looked for. Loops give more results then.
  std::vector<std::string> In(OnnxGraph* graph) {
    std::vector<std::string> found;
    for (const OnnxInitializer& initializer : graph->initializers)
      if (initializer.name == name_) found.push_back(name_);
    std::map<std::string, int> unnamed;
    for (OnnxNode& node : graph->nodes) {
      const bool is_meant =
          name_ ==
          (node.name.empty() ? fmt::format("{}_{}", node.op_type, unnamed[node.op_type]++) : node.name);
      for (const std::string& output : node.outputs)
        if (!output.empty() && (is_meant || output == name_ || IsCalledAfter(output, name_)))
          found.push_back(output);
      CollectFrom(graph, &node, &found);
    }
    return found;
  }

 private:
  void CollectFrom(OnnxGraph* graph, OnnxNode* node, std::vector<std::string>* found) {
    const auto opset = model_.opset_imports.find(node->domain);
    const int version = opset == model_.opset_imports.end() ? 1 : static_cast<int>(opset->second);
    const OnnxOp* row = FindOnnxOp(node->domain, node->op_type, version);
    const auto attribute = node->attributes.find("body");
    if (!row || row->results_apart < 0 || attribute == node->attributes.end() || !attribute->second.graph)
      return;
    auto body = std::make_shared<OnnxGraph>(*attribute->second.graph);
    const std::vector<std::string> inside = In(body.get());
    if (inside.empty()) return;
    for (const std::string& value : inside) {
      node->outputs.resize(body->outputs.size() -
                           static_cast<size_t>(row->results_apart));  // the last may be left out
      body->outputs.push_back({value, std::nullopt});
      node->outputs.push_back(Unused(value + "_steps", *graph));
      found->push_back(node->outputs.back());
      // Of what is collected each has a number there, if any has.
      for (const char* name : {"scan_output_axes", "scan_output_directions"})
        if (auto list = node->attributes.find(name); list != node->attributes.end())
          list->second.integers.push_back(0);
    }
    attribute->second.graph = std::move(body);
  }

  static std::string Unused(const std::string& wanted, const OnnxGraph& graph) {
    std::set<std::string> taken;
    for (const OnnxNode& node : graph.nodes) taken.insert(node.outputs.begin(), node.outputs.end());
    for (const OnnxValueInfo& input : graph.inputs) taken.insert(input.name);
    for (const OnnxInitializer& initializer : graph.initializers) taken.insert(initializer.name);
    std::string name = wanted;
    for (int i = 2; taken.contains(name); ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

  const OnnxModel& model_;
  const std::string name_;
};

}  // namespace

Expected<std::vector<std::string>> KeepValues(std::span<const std::string> names, OnnxModel* model) {
  std::vector<std::string> kept;
  for (const std::string& name : names) {
    OnnxGraph& graph = model->graph;
    const auto is_named = [&](const OnnxValueInfo& input) { return input.name == name; };
    if (std::ranges::any_of(graph.inputs, is_named)) continue;
    const std::vector<std::string> found = Keeper(*model, name).In(&graph);
    if (found.empty())
      return MakeError(Code::kInvalidArgument,
                       fmt::format("the model has no value or node named '{}'", name));
    for (const std::string& value : found) {
      AddOutput(value, &graph);
      if (std::ranges::find(kept, value) == kept.end()) kept.push_back(value);
    }
  }
  return kept;
}

}  // namespace tvmvm::ir
