// `./dev op NAME`: what there is for an operator, of ONNX or of the core, and what it still lacks. Exit
// status 1: something is missing.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "compiler/autodiff/gradient_rule.h"
#include "compiler/graph/core_op.h"
#include "tests/conformance/operator_evidence.h"
#include "tvm-vm/compiler.h"

namespace tvmvm {
namespace {

// One line: what there is, or what to do.
bool Tell(const char* what, const std::vector<std::string>& found, const char* otherwise) {
  constexpr size_t kMost = 3;
  std::string text = found.empty() ? fmt::format("MISSING: {}", otherwise) : found[0];
  for (size_t i = 1; i < std::min(found.size(), kMost); ++i) text += "\n              " + found[i];
  if (found.size() > kMost) text += fmt::format("\n              and {} more", found.size() - kMost);
  fmt::print("  {:<10}  {}\n", what, text);
  return !found.empty();
}

bool TellOnnx(const ir::OnnxOp& row) {
  const OperatorEvidence evidence = EvidenceOf(row);
  fmt::print("{}{}{}, versions {} to {}; {}\n", row.domain, row.domain.empty() ? "" : ".", row.name,
             row.since, row.until == ir::kLatest ? "the newest" : std::to_string(row.until),
             ir::TypesText(row.types.set));
  bool is_whole = true;
  if (!IsWithoutForm(row))
    is_whole &= Tell("form", evidence.forms, "a line in tests/conformance/operator_forms.txt");
  is_whole &= Tell("numbers", evidence.numbers,
                   "a case in tests/conformance/make_cases.py, which asks ONNX Runtime, or a backend test");
  is_whole &= Tell("fuzz maker", evidence.makers, "a generator in tests/fuzz/operators/");
  std::vector<std::string> document;
  if (evidence.is_in_document) document.push_back("docs/operators.md");
  is_whole &= Tell("document", document, "tvm-vm ops --markdown > docs/operators.md");
  return is_whole;
}

void TellCore(const ir::CoreOp& op) {
  fmt::print("core operator {}: {}\n", op.name, op.meaning);
  const autodiff::Rule rule = autodiff::FindRule(op);
  fmt::print("  gradient    {}\n", rule == nullptr                 ? "none (compiler/autodiff/*_rules.cc)"
                                   : rule == autodiff::DerivedRule ? "follows from its element"
                                                                   : "has a rule");
  fmt::print("  traits      docs/core_operators.md\n");
}

int Main(const std::string& name) {
  bool is_known = false, is_whole = true;
  for (const ir::OnnxOp* row : ir::OnnxOps()) {
    if (row->name != name) continue;
    is_known = true;
    is_whole = TellOnnx(*row) && is_whole;
  }
  if (const ir::CoreOp* op = ir::FindCoreOp(name)) {
    is_known = true;
    TellCore(*op);
  }
  if (!is_known)
    fmt::print(
        "{}\n  row         MISSING: a function and a row in a family of compiler/onnx/ops "
        "(docs/adding_an_op.md)\n",
        name);
  return is_known && is_whole ? 0 : 1;
}

}  // namespace
}  // namespace tvmvm

int main(int argc, char** argv) {
  if (argc == 2) return tvmvm::Main(argv[1]);
  fmt::print(stderr, "usage: operator_status NAME\n");
  return 2;
}
