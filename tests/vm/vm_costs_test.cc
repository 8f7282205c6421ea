// What the machine itself costs in instructions, which are the same on every machine, unlike times.
//
// The numbers are of one compiler and of a release build: others are held to nothing. TVMVM_UPDATE_GOLDEN=1
// writes them anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "bench/vm_programs.h"
#include "tests/count_instructions.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

constexpr double kTolerance = 0.05;
constexpr int64_t kFew = 1000, kMany = 6000;
const std::string kPath = SourcePath("tests/golden/vm_costs.txt");

std::string CompilerName() { return fmt::format("gcc {}", __GNUC__); }

std::optional<int64_t> InstructionsOf(std::string_view program, int64_t turns) {
  return CountInstructions(fmt::format("'{}/vm_costs' {} {}", BuildPath(), program, turns));
}

TEST(VmCosts, StayWhatTheyAre) {
  if (const std::string why = WhyNotCounted(); !why.empty()) GTEST_SKIP() << why;
  const std::vector<bench::VmProgram> programs = bench::VmPrograms();
  std::map<std::string, double> found;
  for (const bench::VmProgram& program : programs) {
    const std::optional<int64_t> few = InstructionsOf(program.name, kFew);
    const std::optional<int64_t> many = InstructionsOf(program.name, kMany);
    if (!few || !many) TVMVM_SKIP_WITHOUT("valgrind", "there is no valgrind, or it does not run here");
    found[program.name] = static_cast<double>(*many - *few) / (kMany - kFew);
  }
  for (const bench::VmProgram& program : programs)
    if (program.has_loop && program.name != "loop_turn") {
      double& cost = found[program.name];
      cost = (cost - found["loop_turn"]) / static_cast<double>(program.per_turn);
    }

  std::string text = CompilerName() + "\n";
  for (const auto& [name, cost] : found) text += fmt::format("{} {:.1f}\n", name, cost);
  if (UpdateGolden()) {
    std::ofstream(kPath) << text;
    return;
  }
  std::istringstream golden(ReadText(kPath));
  std::string compiler, name;
  double wanted = 0;
  std::getline(golden, compiler);
  if (compiler != CompilerName())
    GTEST_SKIP() << "the numbers are of " << compiler << ", not of " << CompilerName();
  size_t seen = 0;
  for (; golden >> name >> wanted; ++seen) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_LE(std::abs(found[name] / wanted - 1), kTolerance)
        << name << ": " << found[name] << ", wanted " << wanted;
  }
  EXPECT_EQ(seen, found.size());
}

}  // namespace
}  // namespace tvmvm
