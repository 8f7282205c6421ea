#include "compiler/onnx/ops/onnx_compose.h"

#include <fmt/core.h>

#include <algorithm>

namespace tvmvm::ir {
namespace {

constexpr int kComposedVersion = 24;

}  // namespace

OnnxAttribute IntAttribute(int64_t value) {
  OnnxAttribute attribute;
  attribute.kind = OnnxAttribute::Kind::kInt;
  attribute.integer = value;
  return attribute;
}

OnnxAttribute FloatAttribute(double value) {
  OnnxAttribute attribute;
  attribute.kind = OnnxAttribute::Kind::kFloat;
  attribute.number = value;
  return attribute;
}

OnnxAttribute TextAttribute(std::string value) {
  OnnxAttribute attribute;
  attribute.kind = OnnxAttribute::Kind::kString;
  attribute.text = std::move(value);
  return attribute;
}

OnnxAttribute IntsAttribute(std::vector<int64_t> values) {
  OnnxAttribute attribute;
  attribute.kind = OnnxAttribute::Kind::kInts;
  attribute.integers = std::move(values);
  return attribute;
}

OnnxAttributes Passed(const OnnxContext& c, std::string_view names) {
  OnnxAttributes passed;
  while (!names.empty()) {
    std::string name(names.substr(0, names.find(' ')));
    if (const OnnxAttribute* attribute = c.Attr(name)) passed[name] = *attribute;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return passed;
}

std::vector<ValueId> ApplyMany(OnnxContext& c, std::string_view op, std::vector<ValueId> inputs,
                               OnnxAttributes attributes, size_t count) {
  OnnxContext inner(c.b);
  inner.version = kComposedVersion;
  inner.op_type = op;
  inner.inputs = std::move(inputs);
  inner.attributes = std::move(attributes);
  inner.output_names.assign(count, "result");
  inner.outputs.resize(count);
  inner.import_graph = c.import_graph;
  inner.checkpoint = c.checkpoint;
  inner.carried_types = c.carried_types;
  const OnnxOp* row = FindOnnxOp("", op, kComposedVersion);
  if (row == nullptr)
    c.b.Fail(Code::kInternal, fmt::format("no operator {}", op));
  else if (!c.b.failed())
    row->lower(inner);
  if (c.b.failed()) inner.outputs.assign(count, c.b.Scalar(DType::kF32, 0));
  return inner.outputs;
}

ValueId Apply(OnnxContext& c, std::string_view op, std::vector<ValueId> inputs, OnnxAttributes attributes) {
  return ApplyMany(c, op, std::move(inputs), std::move(attributes), 1)[0];
}

}  // namespace tvmvm::ir
