// What the machine itself costs in instructions, which are the same on every machine, unlike times.
//
// The numbers are of one compiler and of a release build: others are held to nothing. TVMVM_UPDATE_GOLDEN=1
// writes them anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "bench/vm_programs.h"
#include "tests/golden/golden.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

constexpr double kTolerance = 0.05;
constexpr int64_t kFew = 1000, kMany = 6000;
constexpr const char* kPath = TVMVM_SOURCE_DIR "/tests/golden/vm_costs.txt";

std::string CompilerName() { return fmt::format("gcc {}", __GNUC__); }

// Instructions that valgrind counts in a whole process; nullopt where there is no valgrind.
std::optional<int64_t> CountInstructions(std::string_view program, int64_t turns) {
  const std::string command =
      fmt::format("valgrind --tool=callgrind --callgrind-out-file=/dev/null '{}/vm_costs' {} {} 2>&1",
                  TVMVM_BINARY_DIR, program, turns);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  char buffer[256];
  while (fgets(buffer, sizeof(buffer), pipe) != nullptr) text += buffer;
  if (pclose(pipe) != 0) return std::nullopt;
  const size_t at = text.find("Collected : ");
  if (at == std::string::npos) return std::nullopt;
  return std::strtoll(text.c_str() + at + 12, nullptr, 10);
}

TEST(VmCosts, StayWhatTheyAre) {
#ifndef NDEBUG
  GTEST_SKIP() << "a build without optimisation";
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
  GTEST_SKIP() << "a build with sanitizers, or of another architecture";
#endif
  const std::vector<bench::VmProgram> programs = bench::VmPrograms();
  std::map<std::string, double> found;
  for (const bench::VmProgram& program : programs) {
    const std::optional<int64_t> few = CountInstructions(program.name, kFew);
    const std::optional<int64_t> many = CountInstructions(program.name, kMany);
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
