// The operators of cases/*.json on inputs of other ranks than those that they take, constant or not: the
// compiler takes such a model or says why not.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/case_model.h"
#include "tests/folders.h"
#include "tvm-vm/compiler.h"

namespace tvmvm {
namespace {

using nlohmann::json;

// With axes of size 1 in front, or without its first ones; only the first elements stay of those.
json WithRank(json input, size_t rank) {
  std::vector<int64_t> dims = input["dims"];
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  dims.erase(dims.begin(), dims.end() - static_cast<std::ptrdiff_t>(rank));
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  json values = json::array();
  for (int64_t i = 0; i < count; ++i)
    values.push_back(
        input["values"].empty() ? json(1) : input["values"][static_cast<size_t>(i) % input["values"].size()]);
  input["dims"] = dims;
  input["values"] = values;
  return input;
}

void Import(const json& text) {
  CompileOptions options;
  options.stop_after = "import";
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(ModelOfCase(text, false).bytes), options);
  if (compiled) return;
  EXPECT_NE(compiled.error().code, Code::kInternal) << compiled.error().message;
  EXPECT_FALSE(compiled.error().message.empty());
}

TEST(OtherRanks, AreTakenOrRefused) {
  size_t models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("tests/conformance/cases"))) {
    std::ifstream file(entry.path());
    const json cases = json::parse(file, nullptr, false);
    ASSERT_TRUE(cases.is_array()) << entry.path();
    for (const json& text : cases) {
      for (size_t i = 0; i < text["inputs"].size(); ++i) {
        if (text["inputs"][i].is_null()) continue;
        const size_t rank = text["inputs"][i]["dims"].size();
        for (size_t other : std::set<size_t>{0, 1, rank - std::min<size_t>(rank, 1), rank + 1, 5}) {
          if (other == rank || other > kMaxRank) continue;
          SCOPED_TRACE(text["name"].get<std::string>() + ", input " + std::to_string(i) + " with rank " +
                       std::to_string(other));
          json changed = text;
          changed["inputs"][i] = WithRank(text["inputs"][i], other);
          Import(changed);
          ++models;
        }
      }
    }
  }
  EXPECT_GT(models, 1000u);
}

}  // namespace
}  // namespace tvmvm
