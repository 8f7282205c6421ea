// Which kernels for GPUs get indices of 32 bits, and what they compute.
#include "compiler/schedules/small_sizes.h"

#include "tests/compiler/schedules/gpu_group.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;

GroupProgram Schedule(GroupBuilder& b) {
  const ir::NodeId node = b.Finish();
  Expected<GroupProgram> program = ScheduleGroup(b.function(), node, GpuTargetInfo(DeviceKind::kVulkan));
  EXPECT_TRUE(program.has_value());
  return program ? *std::move(program) : GroupProgram();
}

// How many kernels there are for these sizes, and whether theirs is narrow.
std::pair<int, bool> KernelsFor(const GroupProgram& program, const Symbols& symbols) {
  int count = 0;
  bool is_narrow = false;
  for (const KernelCall& call : program.calls) {
    if (ValueOf(call.when, symbols) == 0) continue;
    ++count;
    is_narrow = call.kernel.small_sizes;
  }
  return {count, is_narrow};
}

TEST(SmallSizes, KnownSizesHaveOneKernel) {
  for (bool is_small : {true, false}) {
    GroupBuilder b;
    b.Output(b.Add("exp", {b.Input(DType::kF32, {Dim(is_small ? 3 : int64_t{1} << 29), Dim(4)})}));
    const GroupProgram program = Schedule(b);
    ASSERT_EQ(program.calls.size(), 1u);
    EXPECT_EQ(program.calls[0].kernel.small_sizes, is_small);
    EXPECT_TRUE(program.calls[0].when.IsConstant(1));
  }
}

TEST(SmallSizes, UnknownSizesChooseAtLaunch) {
  GroupBuilder b;
  b.Output(b.Add("exp", {b.Input(DType::kF32, {Dim::Symbol("n"), Dim::Symbol("m")})}));
  const GroupProgram program = Schedule(b);
  EXPECT_EQ(program.calls.size(), 2u);
  EXPECT_EQ(KernelsFor(program, {{"n", 3}, {"m", 5}}), std::pair(1, true));
  EXPECT_EQ(KernelsFor(program, {{"n", 1 << 15}, {"m", 1 << 15}}), std::pair(1, true));
  EXPECT_EQ(KernelsFor(program, {{"n", 1 << 15}, {"m", (1 << 15) + 1}}), std::pair(1, false));
}

// It may be multiplied by anything.
TEST(SmallSizes, CoordinatesAsElementsStayWide) {
  for (DType dtype : {DType::kI64, DType::kF32}) {
    GroupBuilder b;
    const Dims dims = {Dim(1000)};
    ValueId iota = b.Add("iota", {}, {{"dtype", dtype}, {"dims", dims}, {"axis", int64_t{0}}});
    b.Output(b.Add("mul", {iota, b.Input(dtype, dims)}));
    const GroupProgram program = Schedule(b);
    ASSERT_EQ(program.calls.size(), 1u);
    EXPECT_EQ(program.calls[0].kernel.small_sizes, dtype == DType::kF32);
  }
}

// Repeated and moved elements, an odd number of them, with sizes that are no powers of two and that are.
TEST(SmallSizes, NarrowIndicesFindTheirElements) {
  for (int64_t size : {2, 3, 6, 7}) {
    GroupBuilder b;
    const Dim n = Dim::Symbol("n");
    const Dims from = {Dim(2), Dim(1), n, Dim(3)}, to = {Dim(2), Dim(5), n, Dim(3)};
    b.Output(b.Add("exp", {b.Add("expand", {b.Input(DType::kF32, from)}, {{"dims", to}})}));
    const ir::NodeId node = b.Finish();
    GroupView group(b.function(), node);
    GpuGroup scheduled(b.function(), node);
    const Symbols symbols = {{"n", size}};
    std::vector<HostTensor> inputs = RandomInputs(group, symbols);
    std::vector<HostTensor> wanted = RunNaively(group, inputs, symbols);
    std::vector<std::vector<HostTensor>> all = scheduled.Run(inputs, symbols);
    EXPECT_FALSE(all.empty());
    for (const std::vector<HostTensor>& given : all) CompareTensors(wanted[0], given[0], 1e-5, 0);
  }
}

}  // namespace
}  // namespace tvmvm::tensor
