// The cases of operators once more, each with a random schedule of those that are allowed: the numbers are
// those of others whatever a schedule says.
#include "tests/compiler/schedules/random_schedule.h"
#include "tests/conformance/run_case.h"

namespace tvmvm {
namespace {

class AnySchedule : public testing::TestWithParam<std::string> {};

TEST_P(AnySchedule, GivesTheReferenceNumbers) {
  const nlohmann::json cases = CasesOf(GetParam());
  unsigned seed = 0;
  for (const nlohmann::json& text : cases) {
    const bool has_symbols = ++seed % 2 == 0 && !text.value("known_sizes_only", false);
    CompileOptions options;
    options.schedules = tensor::RandomSchedules(seed);
    SCOPED_TRACE(text["name"].get<std::string>() + (has_symbols ? " with symbols\n" : "\n") +
                 options.schedules);
    RunCase(text, has_symbols, options);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AnySchedule,
                         testing::Values("attention", "convolutions", "fused", "integer_products", "movement",
                                         "narrow_weights", "quantized", "ranks", "recurrent",
                                         "sliding_windows", "transposed_convolutions", "windows"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tvmvm
