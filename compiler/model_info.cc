#include "compiler/model_info.h"

#include <algorithm>

#include "compiler/operator_uses.h"

namespace tvmvm::ir {
namespace {

TypeSpec SpecOf(const OnnxType& type) {
  TypeSpec spec;
  spec.dtype = type.dtype;
  spec.has_rank = type.ranked;
  for (const OnnxDim& dim : type.dims)
    spec.dims.push_back({.value = dim.value.value_or(-1), .symbol = dim.symbol});
  if (type.kind == OnnxType::Kind::kSequence) spec.kind = ValueKind::kSequence;
  if (type.kind == OnnxType::Kind::kOptional) spec.kind = ValueKind::kOptional;
  for (const OnnxType& element : type.elements) spec.elements.push_back(SpecOf(element));
  return spec;
}

std::vector<ParameterSpec> SpecsOf(const std::vector<OnnxValueInfo>& values) {
  std::vector<ParameterSpec> specs;
  for (const OnnxValueInfo& value : values) {
    TypeSpec unknown;
    unknown.has_rank = false;
    specs.push_back({value.name, value.type ? SpecOf(*value.type) : unknown});
  }
  return specs;
}

std::vector<std::string> NamesOf(const std::vector<OnnxValueInfo>& values) {
  std::vector<std::string> names;
  for (const OnnxValueInfo& value : values) names.push_back(value.name);
  return names;
}

GraphInfo OutlineOf(const OnnxGraph& graph, const std::string& name) {
  GraphInfo outline{name, NamesOf(graph.inputs), NamesOf(graph.outputs), {}};
  for (const OnnxNode& node : graph.nodes) {
    NodeInfo info{node.name, node.domain, node.op_type, node.inputs, node.outputs, {}};
    for (const auto& [attribute, value] : node.attributes) {
      if (value.graph) info.graphs.push_back(OutlineOf(*value.graph, attribute));
      for (const auto& inner : value.graphs) info.graphs.push_back(OutlineOf(*inner, attribute));
    }
    outline.nodes.push_back(std::move(info));
  }
  return outline;
}

}  // namespace

ModelInfo DescribeModel(const OnnxModel& model) {
  ModelInfo info;
  info.ir_version = model.ir_version;
  info.producer = model.producer;
  info.graph = model.graph.name;
  info.opsets.assign(model.opset_imports.begin(), model.opset_imports.end());
  info.inputs = SpecsOf(model.graph.inputs);
  info.outputs = SpecsOf(model.graph.outputs);
  info.nodes = static_cast<int64_t>(model.graph.nodes.size());
  info.functions = static_cast<int64_t>(model.functions.size());
  info.weights = static_cast<int64_t>(model.graph.initializers.size());
  for (const OnnxInitializer& weight : model.graph.initializers)
    if (weight.data) info.weight_bytes += static_cast<int64_t>(weight.data->bytes.size());
  info.operators = ListOperatorUses(model);
  info.outline = OutlineOf(model.graph, model.graph.name);
  return info;
}

}  // namespace tvmvm::ir
