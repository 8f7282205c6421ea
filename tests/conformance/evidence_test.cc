// Every row of the operator table has numbers of others: a folder of the ONNX backend tests, or a case of
// cases/ and references/; and a line of docs/operators.md. (That it has a shape, operator_forms_test.cc
// tests.)
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/conformance/operator_evidence.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"

namespace tvmvm {
namespace {

TEST(Evidence, ListOfBackendOperatorsIsFresh) {
  const std::filesystem::path root = SharedPath("onnx");
  if (!std::filesystem::exists(root)) TVMVM_SKIP_WITHOUT("onnx", "no " << root << " beside the project");
  std::set<Operator> found;
  for (const char* kind : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root / kind)) {
      auto uses = GetCompiler().OperatorsOf((entry.path() / "model.onnx").string());
      ASSERT_TRUE(uses) << uses.error().message;
      for (const OperatorUse& use : *uses)
        if (use.problem.empty()) found.emplace(use.domain, use.name, use.version);
    }
  }
  std::string text =
      "# Operators and versions in the models of the ONNX backend tests (node, simple, pytorch-*), which\n"
      "# evidence_test.cc collects.\n";
  for (const Operator& each : found) text += Text(each) + "\n";
  if (UpdateGolden()) std::ofstream(kBackendOperators, std::ios::binary) << text;
  EXPECT_EQ(ReadText(kBackendOperators), text) << "TVMVM_UPDATE_GOLDEN=1 writes it anew";
}

TEST(Evidence, EveryRowHasNumbersOfOthersAndALine) {
  for (const ir::OnnxOp* row : ir::OnnxOps()) {
    const OperatorEvidence evidence = EvidenceOf(*row);
    const std::string name = Text({std::string(row->domain), std::string(row->name), row->since});
    EXPECT_FALSE(evidence.numbers.empty()) << name;
    EXPECT_TRUE(evidence.is_in_document) << name;
  }
}

}  // namespace
}  // namespace tvmvm
