#include "compiler/onnx/importer/operator_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "compiler/onnx/ops/missing_operators.h"

namespace tvmvm::ir {
namespace {

std::string DomainText(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

// Of a domain's operators; none where the domain is not known.
std::optional<int64_t> NewestVersion(const std::string& domain) {
  static const Opsets kNewest = [] {
    Opsets newest;
    for (const OnnxOp* row : OnnxOps()) {
      int64_t& version = newest[std::string(row->domain)];
      version = std::max<int64_t>(version, row->since);
    }
    newest[""] = kNewestOpset;
    return newest;
  }();
  auto found = kNewest.find(domain);
  return found == kNewest.end() ? std::nullopt : std::optional(found->second);
}

// The version of the domain that counts for the node; none where nothing says it.
std::optional<int64_t> VersionOf(const std::string& domain, const Opsets& opsets, const Opsets& model_opsets,
                                 std::vector<std::string>* assumptions) {
  std::optional<int64_t> newest = NewestVersion(domain);
  for (const Opsets* imports : {&opsets, &model_opsets}) {
    auto found = imports->find(domain);
    if (found == imports->end()) continue;
    if (imports != &opsets)
      assumptions->push_back(
          fmt::format("a function uses the domain '{}', which it does not import: version {} is taken, which "
                      "the model imports",
                      DomainText(domain), found->second));
    if (!newest.has_value() || found->second <= *newest) return found->second;
    assumptions->push_back(fmt::format("opset {} of {} is not known: it is taken as {}, the newest that is",
                                       found->second, DomainText(domain), *newest));
    return newest;
  }
  if (newest.has_value())
    assumptions->push_back(
        fmt::format("the domain '{}' is not imported: version {} is taken", DomainText(domain), *newest));
  return newest;
}

bool Lists(const OnnxOp& row, std::string_view attribute) { return Understands(row, attribute, kLatest); }

// The newest row before `row` that has all the attributes and takes that many inputs; null: there is none.
const OnnxOp* OlderRow(const OnnxOp& row, const std::map<std::string, OnnxAttribute>& attributes,
                       size_t inputs) {
  const OnnxOp* best = nullptr;
  for (const OnnxOp* other : OnnxOps()) {
    if (other->domain != row.domain || other->name != row.name || other->since >= row.since) continue;
    bool fits = other->max_inputs < 0 || static_cast<size_t>(other->max_inputs) >= inputs;
    fits = fits &&
           std::ranges::all_of(attributes, [&](const auto& named) { return Lists(*other, named.first); });
    if (fits && (best == nullptr || other->since > best->since)) best = other;
  }
  return best;
}

void FitAttributes(const OnnxNode& node, const std::map<std::string, OnnxAttribute>& attributes,
                   OperatorChoice* choice) {
  for (const auto& [name, attribute] : attributes)
    if (!Understands(*choice->row, name, choice->version)) choice->ignored.push_back(name);
  if (choice->ignored.empty()) return;
  size_t inputs = node.inputs.size();
  while (inputs > 0 && node.inputs[inputs - 1].empty()) --inputs;
  const OnnxOp* older = OlderRow(*choice->row, attributes, inputs);
  for (const std::string& name : choice->ignored)
    choice->assumptions.push_back(
        fmt::format("{} has no attribute '{}': {}", OperatorText(node, choice->version), name,
                    older == nullptr ? "it is ignored"
                                     : fmt::format("it is taken as version {}, which has", older->until)));
  if (older == nullptr) return;
  choice->ignored.clear();
  choice->row = older;
  choice->version = older->until;
}

}  // namespace

std::string OperatorText(const OnnxNode& node, int64_t version) {
  return fmt::format("operator {}.{} version {}", DomainText(node.domain), node.op_type, version);
}

OperatorChoice ChooseOperator(const OnnxNode& node, const std::map<std::string, OnnxAttribute>& attributes,
                              const Opsets& opsets, const Opsets& model_opsets) {
  OperatorChoice choice;
  std::optional<int64_t> version = VersionOf(node.domain, opsets, model_opsets, &choice.assumptions);
  if (!version.has_value()) {
    choice.problem = fmt::format("the domain '{}' is not imported", node.domain);
    choice.is_malformed = true;
    return choice;
  }
  choice.version = static_cast<int>(std::clamp<int64_t>(*version, -1, kLatest));
  choice.row = FindOnnxOp(node.domain, node.op_type, choice.version);
  if (choice.row == nullptr) {
    choice.problem = OperatorText(node, *version);
    if (const MissingOperator* missing = FindMissingOperator(node.domain, node.op_type))
      choice.problem += fmt::format(" ({})", missing->reason);
    return choice;
  }
  FitAttributes(node, attributes, &choice);
  return choice;
}

}  // namespace tvmvm::ir
