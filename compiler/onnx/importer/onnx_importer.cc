#include "compiler/onnx/importer/onnx_importer.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "bytecode/shape.h"
#include "compiler/autodiff/differentiate.h"
#include "compiler/graph/op_builder.h"
#include "compiler/onnx/importer/import_report.h"
#include "compiler/onnx/importer/independent_names.h"
#include "compiler/onnx/importer/onnx_signature.h"
#include "compiler/onnx/importer/rank_dispatch.h"
#include "compiler/onnx/importer/rank_region.h"
#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {
namespace {

constexpr int kMaxCallDepth = 100;        // of functions in functions and graphs in graphs
constexpr int64_t kMaxNodes = 2'000'000;  // after inlining: functions that call functions multiply

using Opsets = std::map<std::string, int64_t>;
using Attributes = std::map<std::string, OnnxAttribute>;

// The names that nodes of one graph or function body see.
struct Scope {
  const Scope* outer = nullptr;  // of a subgraph; a function body sees nothing outside
  const Opsets* opsets = nullptr;
  const Attributes* arguments = nullptr;  // of the function call around, for attribute references
  std::string prefix;                     // of the names that values and nodes get in the IR
  int depth = 0;
  // No id: the node that makes it could not be imported, which has been reported.
  std::unordered_map<std::string, std::optional<ValueId>> values;

  const std::optional<ValueId>* Find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      if (auto found = scope->values.find(name); found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
};

std::string OperatorText(const OnnxNode& node, int64_t version) {
  return fmt::format("operator {}.{} version {}", node.domain.empty() ? "ai.onnx" : node.domain, node.op_type,
                     version);
}

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
  return type.dtype == DType::kString && !row.types.set.contains(DType::kString) ? "strings" : "";
}

std::set<std::string> ResultNames(const OnnxGraph& graph) {
  std::set<std::string> names;
  for (const OnnxValueInfo& output : graph.outputs) names.insert(output.name);
  return names;
}

class Importer {
 public:
  Importer(const OnnxModel& model, const ImportOptions& options, std::vector<std::string>* warnings)
      : model_(model),
        options_(options),
        warnings_(warnings),
        independent_names_(IndependentNames(model)),
        module_(NewModule()),
        builder_(&module_, &module_.main(), module_.main().body) {}

  Expected<Module> Run();

 private:
  static Module NewModule();
  Function& function() { return module_.main(); }

  Status CheckOpsets(const Opsets& opsets, const std::string& where) const;
  Status IndexFunctions();
  Status ImportInputs(Scope* scope);
  Status ImportOutputs(const Scope& scope);
  void KeepAllValues(const Scope& scope);
  void CompareOutput(const OnnxValueInfo& declared, const Type& type, const std::string& place = "");

  Status ImportInitializers(const OnnxGraph& graph, Scope* scope);
  // `results`: the names that are read after the nodes.
  Status ImportNodes(const std::vector<OnnxNode>& nodes, const std::set<std::string>& results, Scope* scope);
  bool ReadsUnranked(const OnnxNode& node, const Scope& scope) const;
  bool MayJoinRegion(const OnnxNode& node, const Scope& scope) const;
  RankRegionImporter RegionImporter(const std::vector<OnnxNode>& nodes, Scope* scope,
                                    std::vector<bool>* done);
  Status ImportNode(const std::vector<OnnxNode>& nodes, size_t index, Scope* scope);
  Status ImportCall(const OnnxFunction& callee, const OnnxNode& node, const std::string& name,
                    const std::vector<ValueId>& inputs, Scope* scope);
  void ImportOperator(const OnnxNode& node, const std::string& name, std::vector<ValueId> inputs,
                      Scope* scope);
  std::optional<std::string> Lower(const OnnxOp& row, const OnnxNode& node, OnnxContext* context,
                                   const std::string& name);
  Expected<std::vector<ValueId>> ImportSubgraph(const OnnxGraph& graph, const std::vector<ValueId>& arguments,
                                                const Scope& scope);
  Expected<std::vector<ValueId>> GraphResults(const OnnxGraph& graph, const Scope& scope);

  const OnnxFunction* FindFunction(const OnnxNode& node) const;
  Attributes ResolveReferences(const OnnxNode& node, const Scope& scope) const;
  std::string NodeName(const OnnxNode& node, const Scope& scope);
  // The value that gets the name: one of its own where gradients are taken with respect to the name.
  ValueId ValueFor(const std::string& name, ValueId value);
  Status Define(const std::string& name, std::optional<ValueId> value, Scope* scope, const std::string& node);
  void Poison(const OnnxNode& node, Scope* scope);
  void CheckSupport(const OnnxNode& node, const std::string& name, const Scope& scope);
  void Warn(std::string text) {
    // A body is imported again when its types turn out wider.
    if (warnings_ != nullptr && std::ranges::find(*warnings_, text) == warnings_->end())
      warnings_->push_back(std::move(text));
  }

  const OnnxModel& model_;
  const ImportOptions& options_;
  std::vector<std::string>* warnings_;
  const std::set<std::string> independent_names_;
  Module module_;
  OpBuilder builder_;
  ImportReport report_;
  std::map<std::tuple<std::string, std::string, std::string>, const OnnxFunction*> functions_;
  std::map<const void*, std::vector<Type>> carried_types_;  // by loop body
  FlatViews flat_views_;
  std::map<std::string, int> unnamed_;  // nodes without a name, by operator
  int64_t node_count_ = 0;
};

Module Importer::NewModule() {
  Module module;
  Function& main = module.functions.emplace_back();
  main.name = "main";
  main.body = main.AddRegion();
  return module;
}

Status Importer::CheckOpsets(const Opsets& opsets, const std::string& where) const {
  auto main = opsets.find("");
  if (main == opsets.end()) return {};  // then no operator of ai.onnx may occur
  if (main->second < 1 || main->second > kNewestOpset)
    return MakeError(Code::kUnsupported,
                     fmt::format("{} imports opset {} of ai.onnx, versions 1 to {} are supported", where,
                                 main->second, kNewestOpset));
  return {};
}

Status Importer::IndexFunctions() {
  for (const OnnxFunction& function : model_.functions) {
    TVMVM_CHECK_OK(CheckOpsets(function.opset_imports, fmt::format("function '{}'", function.name)));
    if (!functions_.emplace(std::tuple(function.domain, function.name, function.overload), &function).second)
      return MakeError(Code::kInvalidArgument, fmt::format("function '{}' of domain '{}' is defined twice",
                                                           function.name, function.domain));
  }
  return {};
}

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

Status Importer::ImportInputs(Scope* scope) {
  std::set<std::string> initialized;
  for (const OnnxInitializer& initializer : model_.graph.initializers) initialized.insert(initializer.name);
  SignatureTypes types(&module_, options_.dims);
  for (const OnnxValueInfo& input : model_.graph.inputs) {
    // Until IR version 4 every initializer had to be an input too: a default, which is taken as a constant.
    if (initialized.contains(input.name)) continue;
    if (input.name.empty()) return MakeError(Code::kInvalidArgument, "a graph input has no name");
    if (!input.type.has_value())
      return MakeError(Code::kInvalidArgument, fmt::format("the graph input '{}' has no type", input.name));
    auto type = types.TypeOf(*input.type, input.name);
    if (!type) return MakeError(type.error().code, fmt::format("graph input {}", type.error().message));
    ValueId value = function().AddValue(*type, input.name);
    function().region(function().body).parameters.push_back(value);
    function().input_names.push_back(input.name);
    TVMVM_CHECK_OK(Define(input.name, value, scope, "a graph input"));
  }
  return types.CheckFacts();
}

Status Importer::ImportInitializers(const OnnxGraph& graph, Scope* scope) {
  for (const OnnxInitializer& initializer : graph.initializers) {
    builder_.SetSource(fmt::format("{} (initializer)", initializer.name));
    ValueId value =
        ValueFor(initializer.name, builder_.Constant(*initializer.data, scope->prefix + initializer.name));
    TVMVM_CHECK_OK(Define(initializer.name, value, scope, "an initializer"));
  }
  return {};
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

Attributes Importer::ResolveReferences(const OnnxNode& node, const Scope& scope) const {
  Attributes attributes;
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

void Importer::Poison(const OnnxNode& node, Scope* scope) {
  for (const std::string& output : node.outputs) {
    if (!output.empty()) scope->values.emplace(output, std::nullopt);
  }
}

// For a node that cannot be imported because of another: only what it is is checked.
void Importer::CheckSupport(const OnnxNode& node, const std::string& name, const Scope& scope) {
  if (const OnnxFunction* callee = FindFunction(node)) {
    if (scope.depth >= kMaxCallDepth) return;
    Scope inner;
    inner.opsets = &callee->opset_imports;
    inner.depth = scope.depth + 1;
    for (const OnnxNode& part : callee->nodes) {
      if (++node_count_ > kMaxNodes) return;
      CheckSupport(part, name + "/" + part.name, inner);
    }
    return;
  }
  auto version = scope.opsets->find(node.domain);
  if (version == scope.opsets->end()) return;
  const OnnxOp* row = FindOnnxOp(node.domain, node.op_type, static_cast<int>(version->second));
  if (row == nullptr) report_.Unsupported(OperatorText(node, version->second), name);
}

Status Importer::ImportNodes(const std::vector<OnnxNode>& nodes, const std::set<std::string>& results,
                             Scope* scope) {
  if (scope->depth > kMaxCallDepth)
    return MakeError(Code::kInvalidArgument,
                     "functions or graphs are nested too deeply, or a function calls itself");
  std::vector<bool> done(nodes.size(), false);
  std::optional<NodeNames> names;  // where some node reads a value of unknown rank
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (done[i]) continue;
    if (++node_count_ > kMaxNodes)
      return MakeError(Code::kUnsupported,
                       fmt::format("the model has more than {} nodes after inlining", kMaxNodes));
    if (ReadsUnranked(nodes[i], *scope)) {
      if (!names) names.emplace(nodes, results);
      RankRegion region(nodes, *names, &builder_, &flat_views_, RegionImporter(nodes, scope, &done), &done);
      if (region.Import(i)) continue;
    }
    TVMVM_CHECK_OK(ImportNode(nodes, i, scope));
  }
  return {};
}

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
  auto version = scope.opsets->find(node.domain);
  if (version == scope.opsets->end()) return false;
  const OnnxOp* row = FindOnnxOp(node.domain, node.op_type, static_cast<int>(version->second));
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
    if (!ImportNode(nodes, index, scope)) return false;
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

Status Importer::ImportNode(const std::vector<OnnxNode>& nodes, size_t index, Scope* scope) {
  const OnnxNode& node = nodes[index];
  std::string name = NodeName(node, *scope);
  std::vector<ValueId> inputs;
  bool blocked = false;
  for (const std::string& input : node.inputs) {
    inputs.emplace_back();
    if (input.empty()) continue;
    const std::optional<ValueId>* found = scope->Find(input);
    if (found == nullptr) {
      for (size_t later = index; later < nodes.size(); ++later) {
        for (const std::string& output : nodes[later].outputs) {
          if (output == input)
            return MakeError(
                Code::kInvalidArgument,
                fmt::format("nodes are not in execution order: node '{}' ({}) uses '{}', which the later "
                            "node '{}' ({}) makes",
                            name, node.op_type, input, nodes[later].name, nodes[later].op_type));
        }
      }
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
  if (inputs.size() > callee.inputs.size() || node.outputs.size() > callee.outputs.size()) {
    report_.Malformed(
        name, node.op_type,
        fmt::format("{} inputs and {} outputs, the model's function has {} and {}", inputs.size(),
                    node.outputs.size(), callee.inputs.size(), callee.outputs.size()));
    Poison(node, scope);
    return {};
  }
  Attributes arguments = ResolveReferences(node, *scope);
  arguments.insert(callee.attribute_defaults.begin(), callee.attribute_defaults.end());
  Scope inner;
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
    if (node.outputs[i].empty()) continue;
    const std::optional<ValueId>* result = inner.Find(callee.outputs[i]);
    if (result == nullptr) {
      report_.Malformed(name, node.op_type,
                        fmt::format("the function's output '{}' is made by no node", callee.outputs[i]));
      Poison(node, scope);
      return {};
    }
    scope->values.emplace(node.outputs[i], result->has_value()
                                               ? std::optional(ValueFor(node.outputs[i], **result))
                                               : std::nullopt);
  }
  return {};
}

void Importer::ImportOperator(const OnnxNode& node, const std::string& name, std::vector<ValueId> inputs,
                              Scope* scope) {
  auto version = scope->opsets->find(node.domain);
  if (version == scope->opsets->end()) {
    report_.Malformed(name, node.op_type, fmt::format("the domain '{}' is not imported", node.domain));
    return Poison(node, scope);
  }
  const OnnxOp* row = FindOnnxOp(node.domain, node.op_type, static_cast<int>(version->second));
  if (row == nullptr) {
    report_.Unsupported(OperatorText(node, version->second), name);
    return Poison(node, scope);
  }
  OnnxContext context(builder_);
  context.version = static_cast<int>(version->second);
  context.op_type = node.op_type;
  context.inputs = std::move(inputs);
  context.output_names = node.outputs;
  context.attributes = ResolveReferences(node, *scope);
  context.import_graph = [this, scope](const OnnxGraph& graph, const std::vector<ValueId>& arguments) {
    return ImportSubgraph(graph, arguments, *scope);
  };
  context.find_value = [scope](const std::string& value) { return scope->Find(value); };
  context.checkpoint = [this]() -> std::function<void()> {
    return [this, saved = report_] { report_ = saved; };
  };
  context.carried_types = &carried_types_;
  builder_.SetSource(fmt::format("{} ({})", name, node.op_type));
  if (auto problem = Lower(*row, node, &context, name)) {
    if (!problem->empty()) report_.Malformed(name, node.op_type, *problem);
    return Poison(node, scope);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    ValueId value = ValueFor(node.outputs[i], context.outputs[i]);
    if (std::string& known = function().value(value).name; known.empty())
      known = scope->prefix + node.outputs[i];
    scope->values.emplace(node.outputs[i], value);
  }
}

// Nothing where it worked; else what is malformed, or "" where the problem has been reported.
std::optional<std::string> Importer::Lower(const OnnxOp& row, const OnnxNode& node, OnnxContext* context,
                                           const std::string& name) {
  int given = static_cast<int>(context->inputs.size());
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
  bool understood = true;
  for (const auto& [key, attribute] : context->attributes) {
    if (Understands(row, key, context->version)) continue;
    report_.Unsupported(fmt::format("{}, attribute '{}'", OperatorText(node, context->version), key), name);
    understood = false;
  }
  if (!understood) return "";
  context->outputs.resize(node.outputs.size());
  LowerForRanks(row, context, &flat_views_);
  if (auto error = builder_.TakeError()) {
    if (error->code != Code::kUnsupported) return error->message;
    report_.Unsupported(fmt::format("{}: {}", OperatorText(node, context->version), error->message), name);
    return "";
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (!context->outputs[i].valid()) {
      report_.Unsupported(fmt::format("{}, output {}", OperatorText(node, context->version), i), name);
      return "";
    }
    if (int rank = builder_.rank(context->outputs[i]); rank > kMaxRank)
      return fmt::format("the output {} has {} dimensions, at most {} are supported", i, rank, kMaxRank);
  }
  if (row.types.input == OnnxTypes::kFirstOutput && context->wants(0) && !row.takes_any_value()) {
    std::string problem = TypeProblem(row, builder_.dtype(context->outputs[0]));
    if (problem.empty()) return std::nullopt;
    report_.Unsupported(fmt::format("{}: an output of {}", OperatorText(node, context->version), problem),
                        name);
    return "";
  }
  return std::nullopt;
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

void Importer::CompareOutput(const OnnxValueInfo& declared, const Type& type, const std::string& place) {
  if (!declared.type.has_value() || declared.type->kind != OnnxType::Kind::kTensor ||
      type.kind != TypeKind::kTensor)
    return;
  const OnnxType& wanted = *declared.type;
  bool differs = wanted.dtype != DType::kInvalid && wanted.dtype != type.dtype;
  if (wanted.ranked) {
    differs = differs || wanted.dims.size() != type.dims.size();
    for (size_t i = 0; !differs && i < type.dims.size(); ++i) {
      auto known = type.dims[i].constant();
      differs =
          wanted.dims[i].value.value_or(-1) >= 0 && known.has_value() && *known != *wanted.dims[i].value;
    }
  }
  if (differs)
    Warn(fmt::format("the output '{}'{} is declared with another type than the computed {}", declared.name,
                     place, type.ToString()));
}

Status Importer::ImportOutputs(const Scope& scope) {
  if (model_.graph.outputs.empty()) return MakeError(Code::kInvalidArgument, "the model has no outputs");
  std::set<std::string> seen;
  Region& body = function().region(function().body);
  for (const OnnxValueInfo& output : model_.graph.outputs) {
    if (!seen.insert(output.name).second)
      return MakeError(Code::kInvalidArgument, fmt::format("the output '{}' is listed twice", output.name));
    const std::optional<ValueId>* found = scope.Find(output.name);
    if (found == nullptr)
      return MakeError(
          Code::kInvalidArgument,
          fmt::format("the graph output '{}' is made by no node, input or initializer", output.name));
    if (!found->has_value()) continue;  // reported
    body.results.push_back(**found);
    function().output_names.push_back(output.name);
    CompareOutput(output, function().type(**found));
  }
  return {};
}

void Importer::KeepAllValues(const Scope& scope) {
  std::set<std::string> listed(function().output_names.begin(), function().output_names.end());
  listed.insert(function().input_names.begin(), function().input_names.end());
  Region& body = function().region(function().body);
  // In execution order, whatever the map's is.
  for (const OnnxNode& node : model_.graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (output.empty() || !listed.insert(output).second) continue;
      ValueId value = *scope.values.at(output);
      if (function().type(value).kind != TypeKind::kTensor) continue;
      body.results.push_back(value);
      function().output_names.push_back(output);
    }
  }
}

Expected<Module> Importer::Run() {
  TVMVM_CHECK_OK(CheckOpsets(model_.opset_imports, "the model"));
  TVMVM_CHECK_OK(IndexFunctions());
  Scope scope;
  scope.opsets = &model_.opset_imports;
  TVMVM_CHECK_OK(ImportInputs(&scope));
  TVMVM_CHECK_OK(ImportInitializers(model_.graph, &scope));
  TVMVM_CHECK_OK(ImportNodes(model_.graph.nodes, ResultNames(model_.graph), &scope));
  TVMVM_CHECK_OK(ImportOutputs(scope));
  if (!report_.empty()) return tl::unexpected<Error>(report_.ToError());
  if (options_.keep_all_values) KeepAllValues(scope);
  return std::move(module_);
}

}  // namespace

Expected<Module> ImportOnnx(const OnnxModel& model, const ImportOptions& options,
                            std::vector<std::string>* warnings) {
  return Importer(model, options, warnings).Run();
}

}  // namespace tvmvm::ir
