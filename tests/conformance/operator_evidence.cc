#include "tests/conformance/operator_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/conformance/operator_forms.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"

namespace tvmvm {
namespace {

using nlohmann::json;

// Where there are numbers, by operator.
using Sources = std::multimap<Operator, std::string>;

void AddBackend(Sources* sources) {
  std::ifstream file(kBackendOperators);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string name;
    int64_t version = 0;
    words >> name >> version;
    size_t dot = name.rfind('.');
    Operator each(dot == std::string::npos ? "" : name.substr(0, dot), name.substr(dot + 1), version);
    sources->emplace(std::move(each), "the ONNX backend tests");
  }
}

// cases/*.json, which are lists, and references/*.json; cases of errors are no evidence of numbers.
void AddOwnCases(const std::string& folder, Sources* sources) {
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("tests/conformance/") + folder)) {
    json file = json::parse(ReadText(entry.path()), nullptr, false);
    for (const json& test : file.is_array() ? file : file["cases"]) {
      if (test.contains("error")) continue;
      int64_t version = test.contains("version") ? test["version"] : test["opset"];
      const std::string source = folder + "/" + entry.path().filename().string();
      if (test.contains("op")) sources->emplace(Operator(test["domain"], test["op"], version), source);
      for (const json& node : test.contains("nodes") ? test["nodes"] : json::array())
        sources->emplace(Operator("", node["op"], version), source);
    }
  }
}

const Sources& NumbersOfOthers() {
  static const Sources* const kSources = [] {
    auto* sources = new Sources;
    AddBackend(sources);
    AddOwnCases("cases", sources);
    AddOwnCases("references", sources);
    return sources;
  }();
  return *kSources;
}

std::vector<std::string> NumbersOf(const ir::OnnxOp& row) {
  std::set<std::string> numbers;
  for (const auto& [each, source] : NumbersOfOthers()) {
    const auto& [domain, name, version] = each;
    if (domain == row.domain && name == row.name && row.since <= version && version <= row.until)
      numbers.insert(fmt::format("{} (version {})", source, version));
  }
  return {numbers.begin(), numbers.end()};
}

std::vector<std::string> MakersOf(const ir::OnnxOp& row) {
  std::vector<std::string> makers;
  const std::regex word(fmt::format("\\b{}\\b", row.name));
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("tests/fuzz/operators"))) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(".py") && file != "__init__.py" && std::regex_search(ReadText(entry.path()), word))
      makers.push_back(file);
  }
  std::sort(makers.begin(), makers.end());
  return makers;
}

}  // namespace

const std::string kBackendOperators = SourcePath("tests/conformance/backend_operators.txt");

std::string Text(const Operator& each) {
  const auto& [domain, name, version] = each;
  return fmt::format("{}{}{} {}", domain, domain.empty() ? "" : ".", name, version);
}

bool IsWithoutForm(const ir::OnnxOp& row) {
  static constexpr std::string_view kNames[] = {"If",      "Loop",           "Scan",   "SequenceMap",
                                                "CastMap", "DictVectorizer", "ZipMap", "Gradient"};
  return std::ranges::find(kNames, row.name) != std::end(kNames);
}

OperatorEvidence EvidenceOf(const ir::OnnxOp& row) {
  static const std::vector<OperatorForm>* const kForms = new std::vector(ReadOperatorForms());
  static const std::string* const kDocument = new std::string(ReadText(SourcePath("docs/operators.md")));
  OperatorEvidence evidence;
  for (const OperatorForm& form : *kForms)
    if (ir::FindOnnxOp(form.domain, form.name, form.version) == &row) evidence.forms.push_back(form.text);
  evidence.numbers = NumbersOf(row);
  evidence.makers = MakersOf(row);
  evidence.is_in_document =
      kDocument->find(fmt::format("\n| {} | {}", row.name, row.since)) != std::string::npos;
  return evidence;
}

}  // namespace tvmvm
