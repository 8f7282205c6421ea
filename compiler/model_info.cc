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
  return info;
}

}  // namespace tvmvm::ir
