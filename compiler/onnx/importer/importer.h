// The import of one model, as onnx_importer.h describes it. Private to the importer's sources:
// onnx_importer.cc has the model, import_nodes.cc graphs and calls of functions, import_operator.cc one
// operator, import_rank_region.cc what hangs together by values of unknown rank.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "compiler/graph/op_builder.h"
#include "compiler/onnx/importer/import_report.h"
#include "compiler/onnx/importer/node_order.h"
#include "compiler/onnx/importer/onnx_importer.h"
#include "compiler/onnx/importer/operator_choice.h"
#include "compiler/onnx/importer/rank_region.h"
#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// What is read after the nodes of a graph.
std::set<std::string> ResultNames(const OnnxGraph& graph);

using OnnxAttributes = std::map<std::string, OnnxAttribute>;

// The names that nodes of one graph or function body see.
struct Scope {
  const Scope* outer = nullptr;      // of a subgraph; a function body sees nothing outside
  const OnnxGraph* graph = nullptr;  // null: a function body
  const NodeOrder* order = nullptr;
  const Opsets* opsets = nullptr;
  const OnnxAttributes* arguments = nullptr;  // of the function call around, for attribute references
  std::string prefix;                         // of the names that values and nodes get in the IR
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

class Importer {
 public:
  Importer(const OnnxModel& model, const ImportOptions& options);

  Expected<Module> Run();
  std::vector<std::string> Warnings() const { return report_.Warnings(); }

 private:
  static Module NewModule();
  Function& function() { return module_.main(); }

  // ---- the model ----
  Status CheckOpsets(const Opsets& opsets, const std::string& where) const;
  Status IndexFunctions();
  Status ImportInputs(Scope* scope);
  Status ImportOutputs(const Scope& scope);
  std::string OutputName(const std::string& listed);
  void KeepAllValues(const Scope& scope);

  // ---- graphs and calls ----
  Status ImportInitializers(const OnnxGraph& graph, Scope* scope);
  // `results`: the names that are read after the nodes.
  Status ImportNodes(const std::vector<OnnxNode>& nodes, const std::set<std::string>& results, Scope* scope);
  Status ImportNode(const OnnxNode& node, Scope* scope);
  Status ImportCall(const OnnxFunction& callee, const OnnxNode& node, const std::string& name,
                    const std::vector<ValueId>& inputs, Scope* scope);
  Expected<std::vector<ValueId>> ImportSubgraph(const OnnxGraph& graph, const std::vector<ValueId>& arguments,
                                                const Scope& scope);
  Expected<std::vector<ValueId>> GraphResults(const OnnxGraph& graph, const Scope& scope);
  // For nodes that are not imported: because of another one, or because nothing uses what they make.
  void CheckSupport(const OnnxNode& node, const std::string& name, const Scope& scope);
  void NoteUnused(const std::vector<OnnxNode>& nodes, const Scope& scope);
  const OnnxFunction* FindFunction(const OnnxNode& node) const;

  // ---- nodes that hang together by values of unknown rank (import_rank_region.cc) ----
  bool ReadsUnranked(const OnnxNode& node, const Scope& scope) const;
  bool MayJoinRegion(const OnnxNode& node, const Scope& scope) const;
  RankRegionImporter RegionImporter(const std::vector<OnnxNode>& nodes, Scope* scope,
                                    std::vector<bool>* done);

  // ---- one operator ----
  void ImportOperator(const OnnxNode& node, const std::string& name, std::vector<ValueId> inputs,
                      Scope* scope);
  // Nothing where it worked; else what is malformed, or "" where the problem has been reported.
  std::optional<std::string> Lower(const OnnxOp& row, const OnnxNode& node, OnnxContext* context,
                                   const std::string& name, const Scope& scope);
  std::optional<std::string> CheckInputs(const OnnxOp& row, const OnnxNode& node, OnnxContext* context,
                                         const std::string& name);
  std::optional<std::string> CheckOutputs(const OnnxOp& row, const OnnxNode& node, const OnnxContext& context,
                                          const std::string& name, const Scope& scope);
  OnnxAttributes ResolveReferences(const OnnxNode& node, const Scope& scope) const;

  // ---- names and values ----
  static bool IsUsed(const std::string& value, const Scope& scope) {
    return !value.empty() && scope.order->used.contains(value);
  }
  std::string NodeName(const OnnxNode& node, const Scope& scope);
  // The value that gets the name: one of its own where gradients are taken with respect to the name.
  ValueId ValueFor(const std::string& name, ValueId value);
  Status Define(const std::string& name, std::optional<ValueId> value, Scope* scope, const std::string& node);
  void DefineResult(const std::string& name, std::optional<ValueId> value, Scope* scope);
  void Poison(const OnnxNode& node, Scope* scope);
  void CompareOutput(const OnnxValueInfo& declared, const Type& type, const std::string& place = "");

  const OnnxModel& model_;
  const ImportOptions& options_;
  const std::set<std::string> independent_names_;
  Module module_;
  OpBuilder builder_;
  ImportReport report_;
  NodeOrders orders_;
  std::set<const NodeOrder*> noted_;  // whose unused nodes have been looked at
  std::map<std::tuple<std::string, std::string, std::string>, const OnnxFunction*> functions_;
  std::map<const void*, std::vector<Type>> carried_types_;  // by loop body
  FlatViews flat_views_;
  std::map<std::string, int> unnamed_;  // nodes without a name, by operator
  int64_t node_count_ = 0;
};

}  // namespace tvmvm::ir
