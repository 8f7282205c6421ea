#include "compiler/onnx/importer/onnx_importer.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/onnx/importer/declared_types.h"
#include "compiler/onnx/importer/importer.h"
#include "compiler/onnx/importer/independent_names.h"
#include "compiler/onnx/importer/onnx_signature.h"

namespace tvmvm::ir {

Importer::Importer(const OnnxModel& model, const ImportOptions& options)
    : model_(model),
      options_(options),
      independent_names_(IndependentNames(model)),
      module_(NewModule()),
      builder_(&module_, &module_.main(), module_.main().body) {}

Module Importer::NewModule() {
  Module module;
  Function& main = module.functions.emplace_back();
  main.name = "main";
  main.body = main.AddRegion();
  return module;
}

Status Importer::CheckOpsets(const Opsets& opsets, const std::string& where) const {
  auto main = opsets.find("");
  if (main == opsets.end() || main->second >= 1) return {};
  return MakeError(Code::kUnsupported,
                   fmt::format("{} imports opset {} of ai.onnx, the first one is 1", where, main->second));
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

Status Importer::ImportInputs(Scope* scope) {
  SignatureTypes types(&module_, options_.dims, options_.distinct_dims);
  for (size_t i = 0; i < model_.graph.inputs.size(); ++i) {
    const OnnxValueInfo& input = model_.graph.inputs[i];
    std::string name = input.name;
    if (name.empty()) {
      name = fmt::format("input_{}", i);
      report_.Assumed(fmt::format("the graph input {} has no name: it is called '{}'", i, name));
    }
    if (!input.type.has_value())
      return MakeError(Code::kInvalidArgument, fmt::format("the graph input '{}' has no type", name));
    auto type = types.TypeOf(*input.type, name);
    if (!type) return MakeError(type.error().code, fmt::format("graph input {}", type.error().message));
    ValueId value = function().AddValue(*type, name);
    function().region(function().body).parameters.push_back(value);
    function().input_names.push_back(name);
    TVMVM_CHECK_OK(Define(name, value, scope, "a graph input"));
  }
  // Since version 4 of the IR, an initializer that is an input, too, may be given another value in a call.
  if (model_.ir_version >= 4)
    for (const std::string& name : model_.graph.defaults)
      report_.Noted("inputs that have a default value are constants of the program, not inputs",
                    fmt::format("'{}'", name));
  return types.CheckFacts();
}

void Importer::CompareOutput(const OnnxValueInfo& declared, const Type& type, const std::string& place) {
  if (declared.type.has_value() && Contradicts(*declared.type, type))
    report_.Assumed(
        fmt::format("the output '{}'{} is declared with another type ({}) than the computed {}, which counts",
                    declared.name, place, DeclaredText(*declared.type), type.ToString()));
}

// One name for each output: outputs of a program are told apart by their names.
std::string Importer::OutputName(const std::string& listed) {
  auto is_taken = [this](const std::string& name) {
    const std::vector<std::string>& names = function().output_names;
    return std::ranges::find(names, name) != names.end();
  };
  if (!is_taken(listed)) return listed;
  std::string name;
  for (int i = 1; name.empty() || is_taken(name); ++i) name = fmt::format("{}_{}", listed, i);
  report_.Assumed(fmt::format("the output '{}' is listed twice: it is also called '{}'", listed, name));
  return name;
}

Status Importer::ImportOutputs(const Scope& scope) {
  if (model_.graph.outputs.empty()) return MakeError(Code::kInvalidArgument, "the model has no outputs");
  Region& body = function().region(function().body);
  for (const OnnxValueInfo& output : model_.graph.outputs) {
    if (output.name.empty()) {
      report_.Assumed("a graph output has no name: it is ignored");
      continue;
    }
    const std::optional<ValueId>* found = scope.Find(output.name);
    if (found == nullptr)
      return MakeError(
          Code::kInvalidArgument,
          fmt::format("the graph output '{}' is made by no node, input or initializer", output.name));
    if (!found->has_value()) continue;  // reported
    body.results.push_back(**found);
    function().output_names.push_back(OutputName(output.name));
    CompareOutput(output, function().type(**found));
  }
  return {};
}

void Importer::KeepAllValues(const Scope& scope) {
  std::set<std::string> listed(function().output_names.begin(), function().output_names.end());
  listed.insert(function().input_names.begin(), function().input_names.end());
  Region& body = function().region(function().body);
  // In execution order, whatever the map's is.
  for (size_t index : scope.order->nodes) {
    for (const std::string& output : model_.graph.nodes[index].outputs) {
      if (output.empty() || !listed.insert(output).second) continue;
      auto found = scope.values.find(output);
      if (found == scope.values.end() || !found->second.has_value()) continue;  // nothing uses it
      ValueId value = *found->second;
      if (function().type(value).kind != TypeKind::kTensor) continue;
      body.results.push_back(value);
      function().output_names.push_back(output);
    }
  }
}

Expected<Module> Importer::Run() {
  for (const std::string& assumption : model_.assumptions) report_.Assumed(assumption);
  TVMVM_CHECK_OK(CheckOpsets(model_.opset_imports, "the model"));
  TVMVM_CHECK_OK(IndexFunctions());
  Scope scope;
  scope.graph = &model_.graph;
  scope.opsets = &model_.opset_imports;
  TVMVM_TRY(scope.order, orders_.Of(model_.graph));
  TVMVM_CHECK_OK(ImportInputs(&scope));
  TVMVM_CHECK_OK(ImportInitializers(model_.graph, &scope));
  TVMVM_CHECK_OK(ImportNodes(model_.graph.nodes, ResultNames(model_.graph), &scope));
  TVMVM_CHECK_OK(ImportOutputs(scope));
  if (report_.has_errors() || (options_.strict && report_.has_assumptions()))
    return tl::unexpected<Error>(report_.ToError(options_.strict));
  if (options_.keep_all_values) KeepAllValues(scope);
  return std::move(module_);
}

Expected<Module> ImportOnnx(const OnnxModel& model, const ImportOptions& options,
                            std::vector<std::string>* warnings) {
  Importer importer(model, options);
  TVMVM_TRY(Module module, importer.Run());
  if (warnings != nullptr) *warnings = importer.Warnings();
  return module;
}

}  // namespace tvmvm::ir
