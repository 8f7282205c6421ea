// Placement on small modules: tests/golden/placement/*.txt hold the input, "----", the table and the module
// with its transfers. A first line "// strict" asks for everything on the GPU, "// by time" for the CPU alone
// where that takes less time, "// two gpus" for a division.
#include "compiler/placement/placement.h"

#include <gtest/gtest.h>

#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"
#include "compiler/placement/min_cut.h"
#include "tests/golden/golden.h"

namespace tvmvm::placement {
namespace {

std::string Placed(const std::string& text) {
  Expected<ir::Module> module = ir::ParseModule(text);
  if (!module) return module.error().message + "\n";
  PlacementOptions options;
  options.gpu = GpuTargetInfo(DeviceKind::kVulkan);
  options.cpu = {TargetInfoFor(CpuLevel::kX86_64_V3)};
  options.gpu_names = {"vulkan"};
  if (text.starts_with("// two gpus")) options.gpu_names.emplace_back("opencl");
  options.strict = text.starts_with("// strict");
  options.prefer_gpu = !text.starts_with("// by time");
  ir::CompileCounters counters;
  tensor::ScheduleCache schedules(&counters);
  Expected<Placement> placement = PlaceModule(&*module, options, &schedules);
  if (!placement)
    return std::string(CodeName(placement.error().code)) + ": " + placement.error().message + "\n";
  if (Status status = ir::VerifyModule(*module); !status)
    return "broken: " + status.error().message + "\n" + ir::PrintModule(*module);
  const std::string printed = ir::PrintModule(*module);
  Expected<ir::Module> again = ir::ParseModule(printed);
  EXPECT_TRUE(again) << again.error().message;
  if (again) {
    EXPECT_EQ(ir::PrintModule(*again), printed);
  }
  return PlacementTable(placement->rows, options) + "\n" + printed;
}

TEST(PlacementTest, MatchesTheGoldenFiles) { CheckGolden("placement", Placed); }

TEST(PlacementTest, WhatIsOnAnotherDeviceIsNoOperand) {
  Expected<ir::Module> module = ir::ParseModule(R"(func @main {
  input "x" = %0: tensor<f32,[4]>
  %1: tensor<f32,[4]> = neg(%0) on gpu
  output "y" = %1
}
)");
  EXPECT_FALSE(module);  // the device stands behind the type
  module = ir::ParseModule(R"(func @main {
  input "x" = %0: tensor<f32,[4]>
  %1: tensor<f32,[4]> on gpu = neg(%0)
  output "y" = %1
}
)");
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("an input is on cpu, the node on gpu"), std::string::npos)
      << module.error().message;
}

// ---- the cut ----

TEST(MinCutTest, EachItemGoesWhereItIsCheap) {
  MinCut cut;
  cut.Add(1, 2);
  cut.Add(2, 1);
  cut.Add(0, 0);
  EXPECT_EQ(cut.Solve(), (std::vector<bool>{false, true, false}));
}

TEST(MinCutTest, EdgesKeepItemsTogether) {
  MinCut cut;
  MinCut::Item a = cut.Add(0, 10), b = cut.Add(3, 0), c = cut.Add(MinCut::kForbidden, 0);
  cut.AddEdge(a, b, 5);
  EXPECT_EQ(cut.Solve(), (std::vector<bool>{false, false, true}));
  MinCut second;
  a = second.Add(0, 10), b = second.Add(3, 0), c = second.Add(MinCut::kForbidden, 0);
  second.AddEdge(a, b, 5);
  second.AddEdge(b, c, 5);  // 3 + 5 against 5
  EXPECT_EQ(second.Solve(), (std::vector<bool>{false, true, true}));
}

TEST(MinCutTest, AnEdgeHasADirection) {
  MinCut cut;
  MinCut::Item a = cut.Add(5, 0), b = cut.Add(0, 5);
  cut.AddEdge(a, b, 100);  // a on the first side and b on the second
  EXPECT_EQ(cut.Solve(), (std::vector<bool>{true, false}));
}

// Against all divisions.
TEST(MinCutTest, IsTheCheapestOfAll) {
  uint64_t state = 7;
  auto random = [&](int64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(bound));
  };
  constexpr uint32_t kItems = 8;
  for (int round = 0; round < 200; ++round) {
    MinCut cut;
    int64_t costs[kItems][2], edges[kItems][kItems] = {};
    for (auto& cost : costs) cut.Add(cost[0] = random(20), cost[1] = random(20));
    for (uint32_t a = 0; a < kItems; ++a)
      for (uint32_t b = 0; b < kItems; ++b)
        if (a != b && random(3) == 0) cut.AddEdge(a, b, edges[a][b] = random(15));
    auto total = [&](uint32_t second) {
      int64_t sum = 0;
      for (uint32_t a = 0; a < kItems; ++a) {
        sum += costs[a][second >> a & 1];
        for (uint32_t b = 0; b < kItems; ++b)
          if ((second >> a & 1) == 0 && (second >> b & 1) == 1) sum += edges[a][b];
      }
      return sum;
    };
    int64_t best = INT64_MAX;
    for (uint32_t second = 0; second < 1u << kItems; ++second) best = std::min(best, total(second));
    uint32_t found = 0;
    std::vector<bool> solved = cut.Solve();
    for (uint32_t a = 0; a < kItems; ++a) found |= static_cast<uint32_t>(solved[a]) << a;
    ASSERT_EQ(total(found), best) << "round " << round;
  }
}

// As deep as a model may be.
TEST(MinCutTest, LongChainsNeedNoStack) {
  MinCut cut;
  constexpr int kLength = 20000;
  MinCut::Item last = cut.Add(MinCut::kForbidden, 0);
  for (int i = 0; i < kLength; ++i) {
    MinCut::Item next = cut.Add(1, 0);
    cut.AddEdge(next, last, 1);
    last = next;
  }
  EXPECT_EQ(cut.Solve(), std::vector<bool>(kLength + 1, true));
}

}  // namespace
}  // namespace tvmvm::placement
