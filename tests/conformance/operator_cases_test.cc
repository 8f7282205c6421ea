// Operators against numbers that others computed: cases/*.json, written by make_cases.py. Each case is one
// node. It runs with the sizes of its inputs known, and again with every size a symbol.
#include <gtest/gtest.h>

#include "tests/conformance/run_case.h"

namespace tvmvm {
namespace {

class OperatorCases : public testing::TestWithParam<std::string> {};

TEST_P(OperatorCases, GiveTheReferenceNumbers) {
  const nlohmann::json cases = CasesOf(GetParam());
  ASSERT_TRUE(cases.is_array() && !cases.empty());
  for (const nlohmann::json& text : cases) {
    for (bool has_symbols : {false, true}) {
      if (has_symbols && text.value("known_sizes_only", false)) continue;
      SCOPED_TRACE(text["name"].get<std::string>() + (has_symbols ? " with symbols" : ""));
      RunCase(text, has_symbols);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OperatorCases, testing::ValuesIn(CaseFiles()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tvmvm
