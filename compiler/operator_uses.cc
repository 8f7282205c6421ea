#include "compiler/operator_uses.h"

#include <map>
#include <set>
#include <tuple>

#include "compiler/onnx/importer/operator_choice.h"
#include "compiler/onnx/ops/missing_operators.h"

namespace tvmvm::ir {
namespace {

std::string WhyNot(const OnnxNode& node, const OperatorChoice& choice) {
  if (choice.is_malformed) return "the domain is not imported";
  const MissingOperator* missing = FindMissingOperator(node.domain, node.op_type);
  return std::string(missing == nullptr ? "no such operator in this version" : missing->reason);
}

class Counter {
 public:
  explicit Counter(const OnnxModel& model) : model_(model) {
    for (const OnnxFunction& function : model.functions)
      functions_.emplace(std::tuple(function.domain, function.name, function.overload), &function);
  }

  std::vector<OperatorUse> Count() {
    Add(model_.graph.nodes, model_.opset_imports);
    while (!waiting_.empty()) {
      auto [nodes, opsets] = waiting_.back();
      waiting_.pop_back();
      for (const OnnxNode& node : *nodes) CountNode(node, *opsets);
    }
    std::vector<OperatorUse> uses;
    for (auto& [key, use] : uses_) uses.push_back(std::move(use));
    return uses;
  }

 private:
  void Add(const std::vector<OnnxNode>& nodes, const Opsets& opsets) {
    waiting_.emplace_back(&nodes, &opsets);
  }

  void CountNode(const OnnxNode& node, const Opsets& opsets) {
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.graph) Add(attribute.graph->nodes, opsets);
      for (const auto& graph : attribute.graphs) Add(graph->nodes, opsets);
    }
    auto function = functions_.find(std::tuple(node.domain, node.op_type, node.overload));
    if (function != functions_.end()) {
      const OnnxFunction* callee = function->second;
      if (called_.insert(callee).second) Add(callee->nodes, callee->opset_imports);
      return;
    }
    OperatorChoice choice = ChooseOperator(node, node.attributes, opsets, model_.opset_imports);
    auto opset = opsets.find(node.domain);
    int64_t version = opset == opsets.end() ? choice.version : opset->second;
    OperatorUse& use = uses_[std::tuple(node.domain, node.op_type, version)];
    use.domain = node.domain;
    use.name = node.op_type;
    use.version = version;
    ++use.count;
    if (choice.row == nullptr) use.problem = WhyNot(node, choice);
  }

  const OnnxModel& model_;
  std::map<std::tuple<std::string, std::string, std::string>, const OnnxFunction*> functions_;
  std::set<const OnnxFunction*> called_;
  std::vector<std::pair<const std::vector<OnnxNode>*, const Opsets*>> waiting_;
  std::map<std::tuple<std::string, std::string, int64_t>, OperatorUse> uses_;
};

}  // namespace

std::vector<OperatorUse> ListOperatorUses(const OnnxModel& model) { return Counter(model).Count(); }

}  // namespace tvmvm::ir
