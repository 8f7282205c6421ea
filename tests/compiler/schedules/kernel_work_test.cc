// What kernels that build their own loops cost, and into how many parts they can be divided.
#include <gtest/gtest.h>

#include "tests/compiler/schedules/group_builder.h"

namespace tvmvm::tensor {
namespace {

using ir::ValueId;

struct Kernel {
  int64_t points, flops, bytes;
};

// Those that are launched for the symbols.
std::vector<Kernel> KernelsOf(GroupBuilder& b, const Symbols& symbols, const TargetInfo& target) {
  std::vector<Kernel> kernels;
  Expected<GroupProgram> program = ScheduleGroup(b.function(), b.FinishAlone(), target);
  if (!program) {
    ADD_FAILURE() << program.error().message;
    return kernels;
  }
  for (const KernelCall& call : program->calls) {
    if (ValueOf(call.when, symbols) == 0) continue;
    int64_t points = 1;
    for (const ir::Dim& size : call.kernel.grid_size) points *= ValueOf(size, symbols);
    kernels.push_back({points, ValueOf(call.kernel.flops, symbols), ValueOf(call.kernel.bytes, symbols)});
  }
  return kernels;
}

// Worth several threads by the device's estimate (devices/cpu/cpu_device.cc), asleep or not, and divisible
// among 16 of them.
void ExpectParallel(GroupBuilder& b, const Symbols& symbols, size_t count, int64_t least_points = 16) {
  std::vector<Kernel> kernels = KernelsOf(b, symbols, TargetInfoFor(CpuLevel::kX86_64_V3));
  ASSERT_EQ(kernels.size(), count);
  for (const Kernel& kernel : kernels) {
    EXPECT_GE(kernel.points, least_points);
    const int64_t speed = kernel.bytes <= 1 << 20 ? 40 : 15;
    EXPECT_GE(std::max(kernel.flops / 60, kernel.bytes / speed), 20'000) << "nanoseconds";
  }
}

constexpr int64_t kMillion = 1'000'000;

TEST(KernelWork, TreesAreDividedByRows) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {N(), 20}), roots = b.Input(DType::kI32, {10}),
          nodes = b.Input(DType::kI32, {5000, 4}), thresholds = b.Input(DType::kF32, {5000});
  b.Add("tree_leaves", {x, roots, nodes, thresholds}, {{"levels", int64_t{8}}});
  ExpectParallel(b, {{"n", 10'000}}, 1, 313);
}

TEST(KernelWork, ScansAreDividedHoweverTheAxisLies) {
  for (auto [n, m, axis, count] : {std::tuple{int64_t{1}, kMillion, int64_t{1}, size_t{2}},
                                   std::tuple{int64_t{1000}, int64_t{1000}, int64_t{1}, size_t{1}},
                                   std::tuple{int64_t{100}, int64_t{100000}, int64_t{0}, size_t{1}}}) {
    GroupBuilder b;
    b.Add("scan", {b.Input(DType::kF32, {N(), M()})},
          {{"axis", K()}, {"kind", std::string("sum")}, {"exclusive", int64_t{0}}, {"reverse", int64_t{0}}});
    ExpectParallel(b, {{"n", n}, {"m", m}, {"k", axis}}, count);
  }
}

TEST(KernelWork, CompactCountsInBlocks) {
  GroupBuilder b;
  b.Add("compact", {b.Input(DType::kBool, {N()})}, {{"count", K()}});
  ExpectParallel(b, {{"n", 2 * kMillion}, {"k", kMillion}}, 2, 100);
  EXPECT_EQ(KernelsOf(b, {{"n", 100}, {"k", 10}}, TargetInfoFor(CpuLevel::kX86_64_V3)).size(), 1u);
}

TEST(KernelWork, ScattersAreDividedByWhatTheyWrite) {
  for (const char* op : {"scatter_nd", "scatter_elements"}) {
    GroupBuilder b;
    const bool takes_tuples = op == std::string("scatter_nd");
    ValueId x = b.Input(DType::kF32, {N(), M()}),
            i = b.Input(DType::kI64, takes_tuples ? ir::Dims{K(), 1} : ir::Dims{K(), M()}),
            u = b.Input(DType::kF32, {K(), M()});
    b.Add(op, {x, i, u}, {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
    ExpectParallel(b, {{"n", 250}, {"m", 4000}, {"k", 250}}, 2, 8);
    EXPECT_EQ(KernelsOf(b, {{"n", 10}, {"m", 10}, {"k", 10}}, TargetInfoFor(CpuLevel::kX86_64_V3)).size(), 1u)
        << "small ones are one launch";
    std::vector<Kernel> gpu =
        KernelsOf(b, {{"n", 1000}, {"m", 1000}, {"k", 1000}}, GpuTargetInfo(DeviceKind::kVulkan));
    ASSERT_EQ(gpu.size(), 2u);
    for (const Kernel& kernel : gpu) EXPECT_GE(kernel.points * 64, 1000);
  }
}

TEST(KernelWork, ProductsCountTheirBytes) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {1, 512}), w = b.Constant(DType::kF32, {512, 1024});
  b.Output(b.Add("contract", {x, w},
                 {{"lhs_batch", std::vector<int64_t>{}},
                  {"lhs_contract", std::vector<int64_t>{1}},
                  {"rhs_batch", std::vector<int64_t>{}},
                  {"rhs_contract", std::vector<int64_t>{0}},
                  {"dtype", DType::kF32}}));
  const ir::NodeId group = b.Finish();
  for (const TargetInfo& target : {TargetInfoFor(CpuLevel::kX86_64_V3), GpuTargetInfo(DeviceKind::kVulkan)}) {
    Expected<GroupProgram> program = ScheduleGroup(b.function(), group, target);
    ASSERT_TRUE(program);
    for (const KernelCall& call : program->calls) {
      if (ValueOf(call.when, {}) == 0 || program->calls.size() > 1) continue;
      EXPECT_EQ(ValueOf(call.kernel.flops, {}), 2 * 512 * 1024);
      EXPECT_EQ(ValueOf(call.kernel.bytes, {}), 4 * (512 * 1024 + 512 + 1024));
    }
  }
}

TEST(KernelWork, GathersReadWhatTheyWant) {
  GroupBuilder b;
  ValueId table = b.Input(DType::kF32, {1'000'000, 64}), i = b.Input(DType::kI64, {N()});
  b.Output(b.Add("gather", {table, i}, {{"axis", int64_t{0}}}));
  const ir::NodeId group = b.Finish();
  for (const TargetInfo& target : {TargetInfoFor(CpuLevel::kX86_64_V3), GpuTargetInfo(DeviceKind::kVulkan)}) {
    Expected<GroupProgram> program = ScheduleGroup(b.function(), group, target);
    ASSERT_TRUE(program);
    for (const KernelCall& call : program->calls) {
      EXPECT_GE(ValueOf(call.kernel.bytes, {{"n", 10}}), 2 * 10 * 64 * 4);
      EXPECT_LE(ValueOf(call.kernel.bytes, {{"n", 10}}), 4 * 10 * 64 * 4);
    }
  }
}

}  // namespace
}  // namespace tvmvm::tensor
