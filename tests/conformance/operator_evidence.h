// What there is for an operator beside its row: a form, numbers that others computed, random cases, a line in
// the document. The tests hold every row to it; `./dev op NAME` says what one still lacks.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm {

// Domain, name, version.
using Operator = std::tuple<std::string, std::string, int64_t>;
std::string Text(const Operator& each);  // "Add 14", "com.microsoft.Gelu 1"

// tests/conformance/backend_operators.txt: operators and versions in the models of the ONNX backend tests.
extern const std::string kBackendOperators;

// They take graphs, maps or names of values, for which forms have no words. control_test.cc,
// gradient_test.cc, references/ml.json and the conformance folders run them.
bool IsWithoutForm(const ir::OnnxOp& row);

struct OperatorEvidence {
  std::vector<std::string> forms;  // lines of operator_forms.txt
  std::vector<std::string>
      numbers;  // "the ONNX backend tests (version 14)", "cases/elementwise.json (version 7)"
  std::vector<std::string> makers;  // files of tests/fuzz/operators that name it
  bool is_in_document = false;      // docs/operators.md
};
OperatorEvidence EvidenceOf(const ir::OnnxOp& row);

}  // namespace tvmvm
