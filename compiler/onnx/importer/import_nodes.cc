#include <fmt/core.h>

#include <utility>

#include "compiler/autodiff/differentiate.h"
#include "compiler/onnx/importer/declared_types.h"
#include "compiler/onnx/importer/importer.h"

namespace tvmvm::ir {
namespace {

constexpr int kMaxCallDepth = 100;        // of functions in functions and graphs in graphs
constexpr int64_t kMaxNodes = 2'000'000;  // after inlining: functions that call functions multiply

}  // namespace

const OnnxFunction* Importer::FindFunction(const OnnxNode& node) const {
  auto found = functions_.find(std::tuple(node.domain, node.op_type, node.overload));
  return found == functions_.end() ? nullptr : found->second;
}

Status Importer::Define(const std::string& name, std::optional<ValueId> value, Scope* scope,
                        const std::string& node) {
  if (scope->values.emplace(name, value).second) return {};
  return MakeError(Code::kInvalidArgument,
                   fmt::format("the value '{}' is defined twice, the second time by {}", name, node));
}

void Importer::DefineResult(const std::string& name, std::optional<ValueId> value, Scope* scope) {
  scope->values.emplace(name, value);
  if (!value.has_value() || scope->graph == nullptr) return;
  auto declared = scope->graph->value_types.find(name);
  if (declared == scope->graph->value_types.end()) return;
  const Type& type = builder_.type(*value);
  if (Contradicts(declared->second, type))
    report_.Assumed("values are declared with other types than are computed, which count",
                    fmt::format("'{}' (declared {}, computed {})", name, DeclaredText(declared->second),
                                type.ToString()));
}

std::string Importer::NodeName(const OnnxNode& node, const Scope& scope) {
  std::string name =
      node.name.empty() ? fmt::format("{}_{}", node.op_type, unnamed_[node.op_type]++) : node.name;
  return scope.prefix + name;
}

ValueId Importer::ValueFor(const std::string& name, ValueId value) {
  if (!value.valid() || !independent_names_.contains(name)) return value;
  const Type& type = builder_.type(value);
  if (type.kind != TypeKind::kTensor || !type.ranked || !IsFloat(type.dtype)) return value;
  return autodiff::Independent(builder_, value);
}

Status Importer::ImportInitializers(const OnnxGraph& graph, Scope* scope) {
  std::unordered_map<std::string_view, const OnnxInitializer*> last;
  for (const OnnxInitializer& initializer : graph.initializers) {
    auto [at, is_new] = last.emplace(initializer.name, &initializer);
    if (!is_new)
      report_.Assumed(
          fmt::format("the initializer '{}' is there twice: the last one counts", initializer.name));
    at->second = &initializer;
  }
  for (const OnnxInitializer& initializer : graph.initializers) {
    if (!scope->order->used.contains(initializer.name) || last.at(initializer.name) != &initializer) continue;
    if (initializer.problem.has_value()) return tl::unexpected<Error>(*initializer.problem);
    builder_.SetSource(fmt::format("{} (initializer)", initializer.name));
    ValueId value =
        ValueFor(initializer.name, builder_.Constant(*initializer.data, scope->prefix + initializer.name));
    TVMVM_CHECK_OK(Define(initializer.name, value, scope, "an initializer"));
  }
  return {};
}

void Importer::Poison(const OnnxNode& node, Scope* scope) {
  for (const std::string& output : node.outputs) {
    if (!output.empty()) scope->values.emplace(output, std::nullopt);
  }
}

// For a node that cannot be imported because of another: only what it is is checked.
void Importer::CheckSupport(const OnnxNode& node, const std::string& name, const Scope& scope) {
  if (const OnnxFunction* callee = FindFunction(node)) {
    if (scope.depth >= kMaxCallDepth) return;
    auto order = orders_.Of(*callee, std::vector<bool>(node.outputs.size(), true));
    if (!order) return;
    Scope inner;
    inner.opsets = &callee->opset_imports;
    inner.depth = scope.depth + 1;
    for (size_t i : (*order)->nodes) {
      if (++node_count_ > kMaxNodes) return;
      CheckSupport(callee->nodes[i], name + "/" + callee->nodes[i].name, inner);
    }
    return;
  }
  OperatorChoice choice = ChooseOperator(node, {}, *scope.opsets, model_.opset_imports);
  if (choice.row == nullptr && !choice.is_malformed) report_.Unsupported(choice.problem, name);
}

void Importer::NoteUnused(const std::vector<OnnxNode>& nodes, const Scope& scope) {
  for (size_t i : scope.order->unused) {
    if (FindFunction(nodes[i]) != nullptr) continue;
    if (ChooseOperator(nodes[i], {}, *scope.opsets, model_.opset_imports).row == nullptr)
      report_.Noted("operators that are not supported are left out, since nothing uses what they make",
                    DescribeNode(nodes[i], i));
  }
}

std::set<std::string> ResultNames(const OnnxGraph& graph) {
  std::set<std::string> names;
  for (const OnnxValueInfo& output : graph.outputs) names.insert(output.name);
  return names;
}

Status Importer::ImportNodes(const std::vector<OnnxNode>& nodes, const std::set<std::string>& results,
                             Scope* scope) {
  if (scope->depth > kMaxCallDepth)
    return MakeError(Code::kInvalidArgument,
                     "functions or graphs are nested too deeply, or a function calls itself");
  // Once, however often a function is called.
  if (noted_.insert(scope->order).second) NoteUnused(nodes, *scope);
  if (!scope->order->is_sorted) report_.Assumed("nodes are not in execution order: they are sorted");
  std::vector<bool> done(nodes.size(), false);
  for (size_t unused : scope->order->unused) done[unused] = true;
  std::optional<NodeNames> names;  // where some node reads a value of unknown rank
  for (size_t index : scope->order->nodes) {
    if (done[index]) continue;
    if (++node_count_ > kMaxNodes)
      return MakeError(Code::kUnsupported,
                       fmt::format("the model has more than {} nodes after inlining", kMaxNodes));
    if (ReadsUnranked(nodes[index], *scope)) {
      if (!names) names.emplace(nodes, results);
      RankRegion region(nodes, *names, &builder_, &flat_views_, RegionImporter(nodes, scope, &done), &done);
      if (region.Import(index)) continue;
    }
    TVMVM_CHECK_OK(ImportNode(nodes[index], scope));
  }
  return {};
}

Status Importer::ImportNode(const OnnxNode& node, Scope* scope) {
  std::string name = NodeName(node, *scope);
  std::vector<ValueId> inputs;
  bool blocked = false;
  for (const std::string& input : node.inputs) {
    inputs.emplace_back();
    if (input.empty()) continue;
    const std::optional<ValueId>* found = scope->Find(input);
    if (found == nullptr) {
      report_.Malformed(name, node.op_type,
                        fmt::format("the input '{}' is made by no node, input or initializer", input));
      blocked = true;
      continue;
    }
    if (found->has_value()) {
      inputs.back() = **found;
    } else {
      blocked = true;
    }
  }
  for (const std::string& output : node.outputs) {
    if (!output.empty() && scope->values.contains(output))
      return MakeError(Code::kInvalidArgument,
                       fmt::format("the value '{}' is defined twice, the second time by node '{}' ({})",
                                   output, name, node.op_type));
  }
  if (node.problem.has_value()) {
    report_.Malformed(name, node.op_type, node.problem->message);
    blocked = true;
  }
  if (blocked) {
    CheckSupport(node, name, *scope);
    Poison(node, scope);
    return {};
  }
  if (const OnnxFunction* callee = FindFunction(node)) return ImportCall(*callee, node, name, inputs, scope);
  ImportOperator(node, name, std::move(inputs), scope);
  return {};
}

Status Importer::ImportCall(const OnnxFunction& callee, const OnnxNode& node, const std::string& name,
                            const std::vector<ValueId>& inputs, Scope* scope) {
  size_t given = inputs.size();
  while (given > callee.inputs.size() && !inputs[given - 1].valid()) --given;
  if (given > callee.inputs.size() || node.outputs.size() > callee.outputs.size()) {
    report_.Malformed(
        name, node.op_type,
        fmt::format("{} inputs and {} outputs, the model's function has {} and {}", inputs.size(),
                    node.outputs.size(), callee.inputs.size(), callee.outputs.size()));
    Poison(node, scope);
    return {};
  }
  OnnxAttributes arguments = ResolveReferences(node, *scope);
  arguments.insert(callee.attribute_defaults.begin(), callee.attribute_defaults.end());
  std::vector<bool> wanted;
  for (const std::string& output : node.outputs) wanted.push_back(IsUsed(output, *scope));
  Scope inner;
  TVMVM_TRY(inner.order, orders_.Of(callee, wanted));
  inner.opsets = &callee.opset_imports;
  inner.arguments = &arguments;
  inner.prefix = name + "/";
  inner.depth = scope->depth + 1;
  for (size_t i = 0; i < callee.inputs.size(); ++i)
    TVMVM_CHECK_OK(Define(callee.inputs[i],
                          i < inputs.size() ? ValueFor(callee.inputs[i], inputs[i]) : ValueId(), &inner,
                          "a function input"));
  TVMVM_CHECK_OK(ImportNodes(callee.nodes, {callee.outputs.begin(), callee.outputs.end()}, &inner));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!wanted[i]) continue;
    const std::optional<ValueId>* result = inner.Find(callee.outputs[i]);
    if (result == nullptr) {
      report_.Malformed(name, node.op_type,
                        fmt::format("the function's output '{}' is made by no node", callee.outputs[i]));
      Poison(node, scope);
      return {};
    }
    DefineResult(node.outputs[i],
                 result->has_value() ? std::optional(ValueFor(node.outputs[i], **result)) : std::nullopt,
                 scope);
  }
  return {};
}

Expected<std::vector<ValueId>> Importer::GraphResults(const OnnxGraph& graph, const Scope& scope) {
  std::vector<ValueId> results;
  for (const OnnxValueInfo& output : graph.outputs) {
    const std::optional<ValueId>* found = scope.Find(output.name);
    if (found == nullptr)
      return MakeError(Code::kInvalidArgument, fmt::format("the output '{}' of graph '{}' is made by no node",
                                                           output.name, graph.name));
    if (!found->has_value())
      return MakeError(Code::kUnsupported, fmt::format("a node of the graph '{}'", graph.name));
    results.push_back(**found);
  }
  return results;
}

Expected<std::vector<ValueId>> Importer::ImportSubgraph(const OnnxGraph& graph,
                                                        const std::vector<ValueId>& arguments,
                                                        const Scope& scope) {
  if (arguments.size() != graph.inputs.size())
    return MakeError(Code::kInvalidArgument, fmt::format("the graph '{}' has {} inputs, {} are wanted",
                                                         graph.name, graph.inputs.size(), arguments.size()));
  Scope inner;
  inner.outer = &scope;
  inner.graph = &graph;
  TVMVM_TRY(inner.order, orders_.Of(graph));
  inner.opsets = scope.opsets;
  inner.arguments = scope.arguments;
  inner.prefix = scope.prefix;
  inner.depth = scope.depth + 1;
  for (size_t i = 0; i < arguments.size(); ++i)
    TVMVM_CHECK_OK(
        Define(graph.inputs[i].name, ValueFor(graph.inputs[i].name, arguments[i]), &inner, "a graph input"));
  TVMVM_CHECK_OK(ImportInitializers(graph, &inner));
  if (options_.counters != nullptr) ++options_.counters->imported_graphs;
  TVMVM_CHECK_OK(ImportNodes(graph.nodes, ResultNames(graph), &inner));
  TVMVM_TRY(std::vector<ValueId> results, GraphResults(graph, inner));
  // What nodes compute decides, as for the model's own outputs: declarations are wrong more often than nodes.
  for (size_t i = 0; i < results.size(); ++i)
    CompareOutput(graph.outputs[i], builder_.type(results[i]), fmt::format(" of graph '{}'", graph.name));
  return results;
}

}  // namespace tvmvm::ir
