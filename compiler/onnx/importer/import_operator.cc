#include <fmt/core.h>

#include <utility>

#include "compiler/onnx/importer/declared_types.h"
#include "compiler/onnx/importer/importer.h"
#include "compiler/onnx/importer/rank_dispatch.h"
#include "tvm-vm/shape.h"

namespace tvmvm::ir {
namespace {

// What is wrong with the type that a row's types are about; "" where nothing is.
std::string TypeProblem(const OnnxOp& row, DType dtype) {
  if (row.types.set.contains(dtype)) return "";
  std::string found = dtype == DType::kString ? "strings" : fmt::format("type {}", DTypeName(dtype));
  return fmt::format("{}; it takes {}", found, TypesText(row.types.set));
}

// What a row cannot do with this type of its input `index`; "" where it can.
std::string InputProblem(const OnnxOp& row, int index, const Type& type) {
  if (row.takes_any_value()) return "";
  if (type.kind != TypeKind::kTensor) return fmt::format("type {}", type.ToString());
  if (index == row.types.input) return TypeProblem(row, type.dtype);
  // Its other inputs have types of their own, but none computes with strings or complex numbers by itself.
  if (row.types.set.contains(type.dtype)) return "";
  if (type.dtype == DType::kString) return "strings";
  return IsComplex(type.dtype) ? fmt::format("type {}", DTypeName(type.dtype)) : "";
}

}  // namespace

OnnxAttributes Importer::ResolveReferences(const OnnxNode& node, const Scope& scope) const {
  OnnxAttributes attributes;
  for (const auto& [name, attribute] : node.attributes) {
    if (attribute.reference.empty()) {
      attributes.emplace(name, attribute);
    } else if (scope.arguments != nullptr) {
      // A reference to an attribute that the call leaves out is left out.
      auto argument = scope.arguments->find(attribute.reference);
      if (argument != scope.arguments->end()) attributes.emplace(name, argument->second);
    }
  }
  return attributes;
}

void Importer::ImportOperator(const OnnxNode& node, const std::string& name, std::vector<ValueId> inputs,
                              Scope* scope) {
  OnnxAttributes attributes = ResolveReferences(node, *scope);
  OperatorChoice choice = ChooseOperator(node, attributes, *scope->opsets, model_.opset_imports);
  for (const std::string& assumption : choice.assumptions)
    report_.Assumed(assumption, fmt::format("node '{}'", name));
  if (choice.row == nullptr) {
    if (choice.is_malformed)
      report_.Malformed(name, node.op_type, choice.problem);
    else
      report_.Unsupported(choice.problem, name);
    return Poison(node, scope);
  }
  OnnxContext context(builder_);
  context.version = choice.version;
  context.op_type = node.op_type;
  context.inputs = std::move(inputs);
  context.output_names = node.outputs;
  context.attributes = std::move(attributes);
  for (const std::string& ignored : choice.ignored) context.attributes.erase(ignored);
  context.import_graph = [this, scope](const OnnxGraph& graph, const std::vector<ValueId>& arguments) {
    return ImportSubgraph(graph, arguments, *scope);
  };
  context.find_value = [scope](const std::string& value) { return scope->Find(value); };
  context.checkpoint = [this]() -> std::function<void()> {
    return [this, saved = report_] { report_ = saved; };
  };
  context.carried_types = &carried_types_;
  builder_.SetSource(fmt::format("{} ({})", name, node.op_type));
  if (auto problem = Lower(*choice.row, node, &context, name, *scope)) {
    if (!problem->empty()) report_.Malformed(name, node.op_type, *problem);
    return Poison(node, scope);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    std::optional<ValueId> value;
    if (context.outputs[i].valid()) value = ValueFor(node.outputs[i], context.outputs[i]);
    if (value.has_value() && function().value(*value).name.empty())
      function().value(*value).name = scope->prefix + node.outputs[i];
    DefineResult(node.outputs[i], value, scope);
  }
}

std::optional<std::string> Importer::Lower(const OnnxOp& row, const OnnxNode& node, OnnxContext* context,
                                           const std::string& name, const Scope& scope) {
  if (auto problem = CheckInputs(row, node, context, name)) return problem;
  context->outputs.resize(node.outputs.size());
  LowerForRanks(row, context, &flat_views_);
  if (auto error = builder_.TakeError()) {
    if (error->code != Code::kUnsupported) return error->message;
    report_.Unsupported(fmt::format("{}: {}", OperatorText(node, context->version), error->message), name);
    return "";
  }
  return CheckOutputs(row, node, *context, name, scope);
}

std::optional<std::string> Importer::CheckInputs(const OnnxOp& row, const OnnxNode& node,
                                                 OnnxContext* context, const std::string& name) {
  std::vector<ValueId>& inputs = context->inputs;
  while (row.max_inputs >= 0 && std::ssize(inputs) > row.max_inputs && !inputs.back().valid()) {
    report_.Assumed(fmt::format("{} has at most {} inputs: empty ones behind them are ignored",
                                OperatorText(node, context->version), row.max_inputs),
                    fmt::format("node '{}'", name));
    inputs.pop_back();
  }
  int given = static_cast<int>(inputs.size());
  if (row.max_inputs >= 0 && given > row.max_inputs)
    return fmt::format("{} inputs, at most {} are allowed", given, row.max_inputs);
  // Of any number of inputs none may be left out; loops take some that may before them.
  int needed = row.max_inputs < 0 && row.min_inputs > 0 ? std::max(given, row.min_inputs) : row.min_inputs;
  for (int i = 0; i < needed; ++i) {
    if (!context->has(static_cast<size_t>(i))) return fmt::format("the input {} is missing", i);
  }
  for (int i = 0; i < given; ++i) {
    ValueId input = context->in(static_cast<size_t>(i));
    std::string problem = input.valid() ? InputProblem(row, i, builder_.type(input)) : "";
    if (problem.empty()) continue;
    report_.Unsupported(fmt::format("{}: an input '{}' of {}", OperatorText(node, context->version),
                                    function().value(input).name, problem),
                        name);
    return "";
  }
  return std::nullopt;
}

std::optional<std::string> Importer::CheckOutputs(const OnnxOp& row, const OnnxNode& node,
                                                  const OnnxContext& context, const std::string& name,
                                                  const Scope& scope) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (!context.outputs[i].valid()) {
      if (!IsUsed(node.outputs[i], scope)) continue;
      report_.Unsupported(fmt::format("{}, output {}", OperatorText(node, context.version), i), name);
      return "";
    }
    if (int rank = builder_.rank(context.outputs[i]); rank > kMaxRank)
      return fmt::format("the output '{}' has {} dimensions, at most {} are supported", node.outputs[i], rank,
                         kMaxRank);
  }
  bool is_typed = row.types.input == OnnxTypes::kFirstOutput && context.wants(0) && !row.takes_any_value();
  if (!is_typed || !context.outputs[0].valid()) return std::nullopt;
  std::string problem = TypeProblem(row, builder_.dtype(context.outputs[0]));
  if (problem.empty()) return std::nullopt;
  report_.Unsupported(fmt::format("{}: an output of {}", OperatorText(node, context.version), problem), name);
  return "";
}

}  // namespace tvmvm::ir
