// Every row of the operator table has numbers of others: a folder of the ONNX backend tests, or a case of
// cases/ and references/; and a line of docs/operators.md. (That it has a shape, operator_forms_test.cc
// tests.)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "compiler/compiler.h"
#include "compiler/onnx/ops/onnx_op.h"
#include "tests/golden/golden.h"

namespace tvmvm {
namespace {

using nlohmann::json;

// Domain, name, version.
using Operator = std::tuple<std::string, std::string, int64_t>;

constexpr const char* kListPath = TVMVM_SOURCE_DIR "/tests/conformance/backend_operators.txt";

std::string Text(const Operator& each) {
  const auto& [domain, name, version] = each;
  return fmt::format("{}{}{} {}", domain, domain.empty() ? "" : ".", name, version);
}

// What backend_operators.txt lists.
std::set<Operator> BackendOperators() {
  std::set<Operator> operators;
  std::ifstream file(kListPath);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string name;
    int64_t version = 0;
    words >> name >> version;
    size_t dot = name.rfind('.');
    operators.emplace(dot == std::string::npos ? "" : name.substr(0, dot), name.substr(dot + 1), version);
  }
  return operators;
}

// Of cases/*.json, which are lists, and references/*.json; cases of errors are no evidence of numbers.
void AddOwnCases(const std::string& folder, std::set<Operator>* operators) {
  for (const auto& entry :
       std::filesystem::directory_iterator(TVMVM_SOURCE_DIR "/tests/conformance/" + folder)) {
    json file = json::parse(ReadText(entry.path()), nullptr, false);
    for (const json& test : file.is_array() ? file : file["cases"]) {
      if (test.contains("error")) continue;
      int64_t version = test.contains("version") ? test["version"] : test["opset"];
      operators->emplace(test["domain"], test["op"], version);
    }
  }
}

TEST(Evidence, ListOfBackendOperatorsIsFresh) {
  const std::filesystem::path root = std::string(TVMVM_SHARED_DIR) + "/onnx";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "no " << root << " beside the project";
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
  if (UpdateGolden()) std::ofstream(kListPath, std::ios::binary) << text;
  EXPECT_EQ(ReadText(kListPath), text) << "TVMVM_UPDATE_GOLDEN=1 writes it anew";
}

TEST(Evidence, EveryRowHasNumbersOfOthers) {
  std::set<Operator> operators = BackendOperators();
  AddOwnCases("cases", &operators);
  AddOwnCases("references", &operators);
  for (const ir::OnnxOp* row : ir::OnnxOps()) {
    bool has_evidence = std::ranges::any_of(operators, [&](const Operator& each) {
      const auto& [domain, name, version] = each;
      return domain == row->domain && name == row->name && row->since <= version && version <= row->until;
    });
    EXPECT_TRUE(has_evidence) << Text({std::string(row->domain), std::string(row->name), row->since});
  }
}

TEST(Evidence, EveryRowIsInTheDocument) {
  std::string document = ReadText(TVMVM_SOURCE_DIR "/docs/operators.md");
  for (const ir::OnnxOp* row : ir::OnnxOps())
    EXPECT_NE(document.find(fmt::format("\n| {} | {}", row->name, row->since)), std::string::npos)
        << row->name;
}

}  // namespace
}  // namespace tvmvm
