// Axes whose sizes are known only at run time, and short then: which kernel runs, and that it is right.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/schedules/take_over.h"
#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::NodeId;
using ir::ValueId;

// Around the sides of tiles, the widths of vectors, the least number of rows and the longest row that share
// one.
const int64_t kLengths[] = {0, 1, 2, 3, 4, 5, 16, 28, 29, 39};

ValueId Reduce(GroupBuilder& b, const char* kind, ValueId value, Dims flags) {
  return b.Add("reduce", {value}, {{"flags", std::move(flags)}, {"kind", std::string(kind)}});
}

NodeId Softmax(GroupBuilder& b, const Dims& dims, const Dims& flags, DType dtype = DType::kF32) {
  ValueId x = b.Add("cast", {b.Input(dtype, dims)}, {{"to", DType::kF32}});
  ValueId e = b.Add("exp", {b.Add("sub", {x, Reduce(b, "max", x, flags)})});
  b.Output(b.Add("cast", {b.Add("div", {e, Reduce(b, "sum", e, flags)})}, {{"to", dtype}}));
  return b.Finish();
}

// For all lengths of n and m from `least` on, with k = 3.
void CheckLengths(const std::function<NodeId(GroupBuilder&)>& build, double tolerance = 1e-5,
                  int64_t least = 0) {
  GroupBuilder b;
  const NodeId group = build(b);
  ScheduledGroup scheduled(b.function(), group, false);
  for (int64_t n : kLengths)
    for (int64_t m : kLengths) {
      if (std::min(n, m) < least) continue;
      SCOPED_TRACE("n=" + std::to_string(n) + " m=" + std::to_string(m));
      scheduled.Check({{"n", n}, {"m", m}, {"k", 3}}, tolerance);
      if (testing::Test::HasFailure()) return;
    }
}

GroupProgram ProgramOf(const std::function<NodeId(GroupBuilder&)>& build) {
  GroupBuilder b;
  const NodeId group = build(b);
  auto program = ScheduleGroup(b.function(), group, TargetInfoFor(CpuLevel::kX86_64_V3));
  EXPECT_TRUE(program.has_value());
  return program.has_value() ? std::move(*program) : GroupProgram{};
}

TEST(ShortAxes, RowsAlongTheInnermostAxis) {
  CheckLengths([](GroupBuilder& b) { return Softmax(b, {N(), M()}, {0, 1}); });
  CheckLengths([](GroupBuilder& b) { return Softmax(b, {N(), M()}, {0, 1}, DType::kF16); }, 2e-3);
  CheckLengths([](GroupBuilder& b) { return Softmax(b, {K(), N(), 2, M()}, {0, 0, 1, 1}); });
}

TEST(ShortAxes, RowsSideBySide) {
  CheckLengths([](GroupBuilder& b) { return Softmax(b, {K(), N(), M()}, {0, 1, 0}); });
  CheckLengths([](GroupBuilder& b) { return Softmax(b, {N(), M()}, {1, 0}, DType::kF16); }, 2e-3);
  CheckLengths([](GroupBuilder& b) { return Softmax(b, {N(), M(), K()}, {1, 0, 0}); });
  CheckLengths([](GroupBuilder& b) { return Softmax(b, {N(), M(), 3}, {0, 1, 0}); });
}

NodeId Reduction(GroupBuilder& b, const char* kind, const Dims& dims, const Dims& flags,
                 DType dtype = DType::kF32) {
  b.Output(Reduce(b, kind, b.Input(dtype, dims), flags));
  return b.Finish();
}

// Of no elements there is none.
void CheckExtremum(const std::function<NodeId(GroupBuilder&)>& build) { CheckLengths(build, 0, 1); }

TEST(ShortAxes, ReductionsAlongTheInnermostAxis) {
  CheckLengths([](GroupBuilder& b) { return Reduction(b, "sum", {N(), M()}, {0, 1}); });
  CheckExtremum([](GroupBuilder& b) { return Reduction(b, "max", {2, N(), K(), M()}, {0, 0, 1, 1}); });
  CheckLengths([](GroupBuilder& b) { return Reduction(b, "sum", {2, N(), 20, M()}, {0, 1, 0, 1}); });
  CheckExtremum([](GroupBuilder& b) { return Reduction(b, "argmax", {N(), M()}, {0, 1}); });
  CheckExtremum([](GroupBuilder& b) { return Reduction(b, "min", {N(), M()}, {0, 1}, DType::kI8); });
}

TEST(ShortAxes, ReductionsSideBySide) {
  CheckLengths([](GroupBuilder& b) { return Reduction(b, "sum", {K(), N(), M()}, {0, 1, 0}); });
  CheckExtremum([](GroupBuilder& b) { return Reduction(b, "max", {N(), M(), 3}, {0, 1, 0}); });
  CheckExtremum([](GroupBuilder& b) { return Reduction(b, "argmin", {N(), M()}, {1, 0}); });
  CheckExtremum([](GroupBuilder& b) { return Reduction(b, "max", {N(), M()}, {1, 0}, DType::kU8); });
}

TEST(ShortAxes, OneKernelForEachCaseAndNoneForWhatNeverIs) {
  auto calls = [](Dims dims, Dims flags) {
    return ProgramOf([&](GroupBuilder& b) { return Softmax(b, dims, flags); }).calls.size();
  };
  EXPECT_EQ(calls({N(), M()}, {0, 1}), 2u);
  EXPECT_EQ(calls({N(), 8}, {0, 1}), 2u);  // are there enough rows?
  EXPECT_EQ(calls({100, 8}, {0, 1}), 1u);
  EXPECT_EQ(calls({N(), 768}, {0, 1}), 1u);
  EXPECT_EQ(calls({N(), M() * 32}, {0, 1}), 1u);  // 0, or long
  EXPECT_EQ(calls({N(), M() * K()}, {0, 1}), 1u);
  EXPECT_EQ(calls({N(), M()}, {1, 0}), 4u);  // one of them where m is 1, another where it is a few
  EXPECT_EQ(calls({K(), N(), M()}, {0, 1, 0}), 5u);
  EXPECT_EQ(calls({N(), M() * K()}, {1, 0}), 1u);
  EXPECT_EQ(calls({N(), 64}, {1, 0}), 1u);
  EXPECT_EQ(calls({N(), 3}, {1, 0}), 3u);
  EXPECT_EQ(calls({300, 3}, {1, 0}), 1u);
}

TEST(ShortAxes, OneKernelForEachCaseOfAReduction) {
  auto calls = [](Dims dims, Dims flags) {
    return ProgramOf([&](GroupBuilder& b) { return Reduction(b, "sum", dims, flags); }).calls.size();
  };
  EXPECT_EQ(calls({N(), M()}, {0, 1}), 2u);
  EXPECT_EQ(calls({N(), 768}, {0, 1}), 1u);
  EXPECT_EQ(calls({N(), 8}, {0, 1}), 1u);
  EXPECT_EQ(calls({N(), M()}, {1, 0}), 4u);
  EXPECT_EQ(calls({N(), 64}, {1, 0}), 1u);
  EXPECT_EQ(calls({N(), M(), 32}, {1, 1, 0}), 1u);
}

TEST(ShortAxes, FewRowsSideBySide) {
  CheckLengths([](GroupBuilder& b) { return Softmax(b, {2, N() * 20, M()}, {0, 1, 0}); });
  CheckLengths([](GroupBuilder& b) { return Softmax(b, {M(), N() * 9, 7}, {0, 1, 0}); });
  CheckLengths([](GroupBuilder& b) { return Reduction(b, "sum", {2, N() * 41, M()}, {0, 1, 0}); }, 1e-4);
  CheckExtremum([](GroupBuilder& b) { return Reduction(b, "max", {M(), N() * 21, 6}, {0, 1, 0}); });
  CheckExtremum([](GroupBuilder& b) { return Reduction(b, "min", {N() * 41, M()}, {1, 0}, DType::kI64); });
}

NodeId Joined(GroupBuilder& b, const std::vector<Dims>& parts, DType dtype = DType::kF32) {
  std::vector<ValueId> inputs;
  for (const Dims& dims : parts) inputs.push_back(b.Input(dtype, dims));
  b.Output(b.Add("concat", inputs, {{"axis", int64_t{1}}}));
  return b.Finish();
}

TEST(ShortAxes, JoinedRuns) {
  CheckLengths([](GroupBuilder& b) { return Joined(b, {{K(), N()}, {K(), M()}}); });
  CheckLengths([](GroupBuilder& b) {
    return Joined(b, {{9, N(), M()}, {9, 1, M()}, {9, M(), M()}, {9, N(), M()}, {9, 1, M()}}, DType::kU8);
  });
}

TEST(ShortAxes, OneKernelMoreForRunsOfSingleElements) {
  const auto joined = [](const std::vector<Dims>& parts) {
    return ProgramOf([&](GroupBuilder& b) { return Joined(b, parts); }).calls.size();
  };
  EXPECT_EQ(joined({{K(), N()}, {K(), M()}}), 2u);
  EXPECT_EQ(joined({{K(), N(), M()}, {K(), 1, M()}}), 2u);
  EXPECT_EQ(joined({{K(), N(), 2}, {K(), M(), 2}}), 1u);
  EXPECT_EQ(joined({{K(), 1}, {K(), 1}}), 1u);
  EXPECT_EQ(joined({{1, N()}, {1, M()}}), 1u);
}

using Ints = std::vector<int64_t>;

NodeId Turned(GroupBuilder& b, const Dims& dims, Ints perm, DType dtype = DType::kF32) {
  b.Output(b.Add("transpose", {b.Input(dtype, dims)}, {{"perm", std::move(perm)}}));
  return b.Finish();
}

TEST(ShortAxes, TurnedTiles) {
  CheckLengths([](GroupBuilder& b) { return Turned(b, {N(), M()}, {1, 0}); });
  CheckLengths([](GroupBuilder& b) { return Turned(b, {K(), N(), M()}, {0, 2, 1}, DType::kF64); });
  CheckLengths([](GroupBuilder& b) { return Turned(b, {N(), K(), M()}, {2, 1, 0}, DType::kU8); });
  CheckLengths([](GroupBuilder& b) { return Turned(b, {N(), 5, M()}, {2, 0, 1}, DType::kI16); });
  CheckLengths([](GroupBuilder& b) { return Turned(b, {M(), 2, N(), 1, K()}, {3, 4, 2, 1, 0}); });
  CheckLengths([](GroupBuilder& b) { return Turned(b, {M(), 20, N()}, {1, 0, 2}); });
}

TEST(ShortAxes, TurnedTilesOfWhatIsComputed) {
  CheckLengths([](GroupBuilder& b) {
    const ValueId x = b.Add("transpose", {b.Input(DType::kF32, {N(), M()})}, {{"perm", Ints{1, 0}}});
    const ValueId y = b.Add("transpose", {b.Input(DType::kF32, {N(), M()})}, {{"perm", Ints{1, 0}}});
    b.Output(b.Add("sub", {b.Add("exp", {x}), y}));
    return b.Finish();
  });
  CheckLengths([](GroupBuilder& b) {
    const ValueId x = b.Add("transpose", {b.Input(DType::kF32, {N(), K(), M()})}, {{"perm", Ints{2, 1, 0}}});
    b.Output(b.Add("add", {x, b.Input(DType::kF32, {M(), K(), N()})}));
    return b.Finish();
  });
}

NodeId Repeated(GroupBuilder& b, const Dims& dims, const Dims& other) {
  b.Output(b.Add("sub", {b.Input(DType::kF32, dims), b.Input(DType::kF32, other)}));
  return b.Finish();
}

TEST(ShortAxes, RowsThatALaunchChooses) {
  CheckLengths([](GroupBuilder& b) { return Repeated(b, {K(), N(), M()}, {N(), 1}); });
  CheckLengths([](GroupBuilder& b) { return Repeated(b, {N(), K(), M()}, {N(), 1, M()}); });
  CheckLengths([](GroupBuilder& b) { return Repeated(b, {N(), M()}, {N(), 1}); });
}

TEST(ShortAxes, OneKernelForEachOrderThatMayBe) {
  const auto turned = [](const Dims& dims, const Ints& perm) {
    return ProgramOf([&](GroupBuilder& b) { return Turned(b, dims, perm); }).calls.size();
  };
  EXPECT_EQ(turned({N(), M()}, {1, 0}), 2u);
  EXPECT_EQ(turned({N(), M(), 64}, {0, 2, 1}), 2u);
  EXPECT_EQ(turned({N(), 7, 64}, {0, 2, 1}), 1u);
  EXPECT_EQ(turned({N(), M(), 64}, {1, 0, 2}), 1u);
  EXPECT_EQ(turned({N(), M() * 4}, {1, 0}), 2u);
  EXPECT_EQ(turned({N(), 2, M()}, {0, 2, 1}), 1u);    // rows of 2, several of which make a vector
  EXPECT_EQ(turned({N() * 2, M() * 4}, {1, 0}), 1u);  // of which neither is 1
  const auto repeated = [](const Dims& dims, const Dims& other) {
    return ProgramOf([&](GroupBuilder& b) { return Repeated(b, dims, other); }).calls.size();
  };
  EXPECT_EQ(repeated({K(), N(), M()}, {N(), 1}), 2u);
  EXPECT_EQ(repeated({K(), N(), 5}, {N(), 1}), 1u);
  EXPECT_EQ(repeated({N(), M()}, {M()}), 1u);  // where m is 1 there is nothing to join
  EXPECT_EQ(repeated({K(), N(), M()}, {K(), N(), M()}), 1u);
}

TEST(ShortAxes, RowsThatALaunchChoosesAreMadeInPlace) {
  GroupBuilder b;
  const NodeId group = Repeated(b, {K(), N(), M()}, {N(), 1});
  auto program = ScheduleGroup(b.function(), group, TargetInfoFor(CpuLevel::kX86_64_V3));
  ASSERT_TRUE(program.has_value());
  ASSERT_EQ(program->calls.size(), 2u);
  EXPECT_TRUE(CanTakeOver(GroupView(b.function(), group), *program, {true, false}, 0));
}

// Of kernels of which one is launched, each may write over what it reads.
TEST(ShortAxes, RowsAreMadeInPlace) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {N(), M()});
  b.Output(b.Add("sub", {x, Reduce(b, "max", x, {0, 1})}));
  const NodeId group = b.Finish();
  auto program = ScheduleGroup(b.function(), group, TargetInfoFor(CpuLevel::kX86_64_V3));
  ASSERT_TRUE(program.has_value());
  ASSERT_EQ(program->calls.size(), 2u);
  EXPECT_TRUE(CanTakeOver(GroupView(b.function(), group), *program, {true}, 0));
}

}  // namespace
}  // namespace tvmvm::tensor
