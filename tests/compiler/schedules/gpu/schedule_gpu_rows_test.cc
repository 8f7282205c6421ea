// Rows as they are scheduled for GPUs: run by the evaluator, and on an OpenCL device where there is one.
#include <limits>

#include "compiler/codegen/gpu_codegen.h"
#include "tests/compiler/schedules/gpu_group.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;

constexpr int64_t kMostEvaluated = 30'000'000;
constexpr int64_t kMostHeld = 2048;  // elements of two values of f32

ValueId Reduced(GroupBuilder& b, ValueId x, const Dims& flags, const char* kind) {
  return b.Add("reduce", {x}, {{"flags", flags}, {"kind", std::string(kind)}});
}

// Of something that is expensive to compute: shared memory holds that, and its exponentials.
ir::NodeId Softmax(GroupBuilder& b, const Dims& dims, const Dims& flags, DType dtype = DType::kF32) {
  ValueId x = b.Add("tanh", {b.Add("sigmoid", {b.Input(dtype, dims)})});
  ValueId shifted = b.Add("exp", {b.Add("sub", {x, Reduced(b, x, flags, "max")})});
  b.Output(b.Add("div", {shifted, Reduced(b, shifted, flags, "sum")}));
  return b.Finish();
}

void Check(GroupBuilder& b, ir::NodeId node, const Symbols& symbols, double tolerance = 1e-5) {
  GroupView group(b.function(), node);
  GpuGroup scheduled(b.function(), node);
  std::vector<HostTensor> inputs = RandomInputs(group, symbols);
  std::vector<HostTensor> wanted = RunNaively(group, inputs, symbols);
  std::vector<std::vector<HostTensor>> all = scheduled.Run(inputs, symbols, kMostEvaluated);
  EXPECT_FALSE(all.empty()) << "nothing ran";
  for (const std::vector<HostTensor>& given : all)
    for (size_t i = 0; i < wanted.size(); ++i) CompareTensors(wanted[i], given[i], tolerance, i);
}

// The calls that run for these sizes.
std::vector<const KernelCall*> CallsFor(const GroupProgram& program, const Symbols& symbols) {
  std::vector<const KernelCall*> calls;
  for (const KernelCall& call : program.calls)
    if (ValueOf(call.when, symbols) != 0) calls.push_back(&call);
  return calls;
}

GroupProgram Schedule(GroupBuilder& b, ir::NodeId node) {
  Expected<GroupProgram> program = ScheduleGroup(b.function(), node, GpuTargetInfo(DeviceKind::kVulkan));
  EXPECT_TRUE(program.has_value());
  return program ? *std::move(program) : GroupProgram();
}

// Sizes of the buffers that hold elements.
std::vector<int64_t> Held(const LoopKernel& kernel) {
  std::vector<int64_t> sizes;
  for (const BufferInfo& b : kernel.buffers)
    if (b.name == "held") sizes.push_back(b.size);
  return sizes;
}

int CountIn(const LoopKernel& kernel, const std::string& what) {
  std::string text = ToString(kernel);
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(GpuRows, ElementsAreHeldUpToALength) {
  GroupBuilder b;
  ir::NodeId node = Softmax(b, {N(), M()}, {0, 1});
  GroupProgram program = Schedule(b, node);
  for (auto [length, is_held] : {std::pair{int64_t{40}, true}, {kMostHeld, true}, {kMostHeld + 1, false}}) {
    SCOPED_TRACE(length);
    Symbols symbols = {{"n", 3}, {"m", length}};
    std::vector<const KernelCall*> calls = CallsFor(program, symbols);
    ASSERT_EQ(calls.size(), 1u);
    using Sizes = std::vector<int64_t>;
    EXPECT_EQ(Held(calls[0]->kernel), is_held ? (Sizes{kMostHeld, kMostHeld}) : Sizes{});
    EXPECT_EQ(CountIn(calls[0]->kernel, "tanh("), is_held ? 1 : 3) << ToString(calls[0]->kernel);
    EXPECT_EQ(CountIn(calls[0]->kernel, "exp.falling("), is_held ? 1 : 2);
    Check(b, node, symbols);
  }
}

TEST(GpuRows, KnownLengthsHaveOneKernel) {
  for (auto [length, held] : {std::pair{Dim(300), 300}, {Dim(kMostHeld), 2048}, {Dim(5000), 0}}) {
    GroupBuilder b;
    GroupProgram program = Schedule(b, Softmax(b, {N(), length}, {0, 1}));
    ASSERT_EQ(program.calls.size(), 2u) << length.ToString() << ": few rows, and any number";
    for (const KernelCall& call : program.calls)
      EXPECT_EQ(Held(call.kernel), held == 0 ? std::vector<int64_t>{} : std::vector<int64_t>(2, held));
  }
}

TEST(GpuRows, ShortRowsAreTakenByAWorkItemEach) {
  GroupBuilder b;
  ir::NodeId node = Softmax(b, {N(), M()}, {0, 1});
  GroupProgram program = Schedule(b, node);
  std::vector<const KernelCall*> calls = CallsFor(program, {{"n", 70}, {"m", 32}});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_FALSE(HasBarrier(*calls[0]->kernel.body));
  Check(b, node, {{"n", 70}, {"m", 32}});
}

TEST(GpuRows, FewLongRowsAreTakenInStages) {
  for (Dims flags : {Dims{0, 1, 0}, Dims{0, 1, 1}}) {
    SCOPED_TRACE(ir::ToString(flags));
    GroupBuilder b;
    ir::NodeId node = Softmax(b, {N(), K(), M()}, flags);
    GroupProgram program = Schedule(b, node);
    const Symbols symbols = {{"n", 1}, {"k", 66000}, {"m", 2}};
    EXPECT_EQ(CallsFor(program, symbols).size(), 5u) << "two for each reduction, and the rest";
    for (const KernelCall* call : CallsFor(program, symbols)) EXPECT_EQ(Held(call->kernel).size(), 0u);
    Check(b, node, symbols);
  }
}

// Elements and a number of each row are stored, and both reductions are of what the input is.
TEST(GpuRows, StagesStoreNumbersOfRows) {
  GroupBuilder b;
  const Dims flags{0, 1};
  ValueId x = b.Input(DType::kF32, {N(), M()});
  ValueId least = Reduced(b, x, flags, "min"), most = Reduced(b, x, flags, "max");
  ValueId width = b.Add("sub", {most, least});
  b.Output(b.Add("div", {b.Add("sub", {x, least}), width}));
  b.Output(width);
  ir::NodeId node = b.Finish();
  const Symbols symbols = {{"n", 3}, {"m", 70001}};
  EXPECT_EQ(CallsFor(Schedule(b, node), symbols).size(), 5u);
  Check(b, node, symbols);
}

TEST(GpuRows, AnyAxes) {
  for (Dims flags : {Dims{0, 1, 0}, Dims{1, 0, 1}, Dims{0, 1, 1}, Dims{1, 1, 1}}) {
    SCOPED_TRACE(ir::ToString(flags));
    GroupBuilder b;
    ir::NodeId node = Softmax(b, {N(), K(), M()}, flags);
    Check(b, node, {{"n", 5}, {"k", 300}, {"m", 9}});
  }
}

TEST(GpuRows, NarrowFloatsTakeWordsOfSharedMemory) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    GroupBuilder b;
    ir::NodeId node = Softmax(b, {N(), M()}, {0, 1}, dtype);
    GroupProgram program = Schedule(b, node);
    for (int64_t length : {kMostHeld, kMostHeld + 1}) {
      Symbols symbols = {{"n", 2}, {"m", length}};
      EXPECT_EQ(Held(CallsFor(program, symbols)[0]->kernel).empty(), length > kMostHeld);
      Check(b, node, symbols, 0.02);
    }
  }
}

TEST(GpuRows, WideNumbers) {
  GroupBuilder b;
  ValueId power = b.Add("cast", {b.Add("exp", {b.Input(DType::kF32, {N(), M()})})}, {{"to", DType::kI64}});
  b.Output(b.Add("sub", {power, Reduced(b, power, {0, 1}, "sum")}));
  b.Output(Reduced(b, power, {0, 1}, "max"));
  ir::NodeId node = b.Finish();
  GroupProgram program = Schedule(b, node);
  for (int64_t length : {int64_t{100}, kMostHeld, kMostHeld + 1}) {
    Symbols symbols = {{"n", 3}, {"m", length}};
    EXPECT_EQ(Held(CallsFor(program, symbols)[0]->kernel).empty(), length > kMostHeld);
    Check(b, node, symbols);
  }
}

TEST(GpuRows, WhatIsCheapIsNotHeld) {
  GroupBuilder b;
  ValueId x = b.Add("add", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kF32, {N(), M()})});
  b.Output(b.Add("sub", {x, Reduced(b, x, {0, 1}, "max")}));
  ir::NodeId node = b.Finish();
  GroupProgram program = Schedule(b, node);
  EXPECT_EQ(program.calls.size(), 10u)
      << "by work-items, by groups, in three stages, each with small sizes and any";
  for (const KernelCall& call : program.calls) EXPECT_TRUE(Held(call.kernel).empty());
  Check(b, node, {{"n", 3}, {"m", 500}});
}

// The norm of each row, scaled: one reduction, and arithmetic on what it gives.
ir::NodeId Norms(GroupBuilder& b, const Dims& dims, const Dims& flags, const Dims& row,
                 DType dtype = DType::kF32) {
  ValueId x = b.Input(dtype, dims);
  ValueId sum = Reduced(b, b.Add("mul", {x, x}), flags, "sum");
  b.Output(b.Add("mul", {b.Add("sqrt", {sum}), b.Input(dtype, row)}));
  return b.Finish();
}

TEST(GpuRows, SeveralGroupsShareALongRow) {
  GroupBuilder b;
  ir::NodeId node = Norms(b, {N(), M()}, {0, 1}, {N(), 1});
  GroupProgram program = Schedule(b, node);
  ASSERT_EQ(program.workspaces.size(), 1u);
  struct {
    int64_t rows, length, shares;  // 0: a group takes the whole row
  } constexpr kCases[] = {{1, 16384, 0},   {1, 16385, 4},     {3, 50'001, 12},
                          {255, 16385, 4}, {200, 100'000, 6}, {256, 16385, 0}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::to_string(c.rows) + " x " + std::to_string(c.length));
    Symbols symbols = {{"n", c.rows}, {"m", c.length}};
    std::vector<const KernelCall*> calls = CallsFor(program, symbols);
    ASSERT_EQ(calls.size(), c.shares == 0 ? 1u : 2u);
    EXPECT_EQ(ValueOf(calls[0]->kernel.grid_size[1], symbols), std::max<int64_t>(c.shares, 1));
    EXPECT_EQ(ValueOf(program.workspaces[0].elements, symbols), c.rows * c.shares);
    if (c.rows <= 3) Check(b, node, symbols, 1e-4);
  }
}

TEST(GpuRows, SharesOfAnyAxesAndTypes) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI64}) {
    for (const char* kind : {"sum", "max"}) {
      SCOPED_TRACE(std::string(DTypeName(dtype)) + " " + kind);
      GroupBuilder b;
      b.Output(Reduced(b, b.Input(dtype, {M(), N(), K()}), {1, 0, 1}, kind));
      ir::NodeId node = b.Finish();
      Symbols symbols = {{"m", 9}, {"n", 3}, {"k", 2500}};
      EXPECT_EQ(CallsFor(Schedule(b, node), symbols).size(), 2u);
      Check(b, node, symbols, dtype == DType::kF16 ? 0.01 : 1e-4);
    }
  }
}

TEST(GpuRows, KnownSizesOfSharedRowsHaveTwoKernels) {
  GroupBuilder b;
  GroupProgram program = Schedule(b, Norms(b, {1, 10'000'000}, {0, 1}, {1, 1}));
  ASSERT_EQ(program.calls.size(), 2u);
  EXPECT_EQ(program.calls[0].arguments.size(), 2u) << "elements, and the workspace";
  EXPECT_EQ(program.calls[1].arguments.size(), 3u) << "the workspace, the scale, the output";
  EXPECT_TRUE(program.calls[0].kernel.grid_size[1].is_constant());
  EXPECT_GT(program.calls[0].kernel.grid_size[1].value(), 400);
}

// Four elements at once as long as there are so many, then one by one: known lengths and others.
TEST(GpuRows, WorkItemsReadSeveralElementsAtOnce) {
  for (int64_t length : {255, 768, 1023, 1024, 1025, 2047, 2049, 5000}) {
    SCOPED_TRACE(length);
    for (bool is_known : {true, false}) {
      GroupBuilder b;
      ir::NodeId node = Norms(b, {N(), is_known ? Dim(length) : M()}, {0, 1}, {N(), 1});
      Symbols symbols = {{"n", 2}, {"m", length}};
      GroupProgram program = Schedule(b, node);
      std::vector<const KernelCall*> calls = CallsFor(program, symbols);
      ASSERT_EQ(calls.size(), 1u);
      EXPECT_EQ(CountIn(calls[0]->kernel, "unroll part in 0 .. 4"), is_known && length < 1024 ? 0 : 1);
      Check(b, node, symbols, 1e-4);
    }
  }
}

TEST(GpuRows, KnownSizesOfStagesHaveFiveKernels) {
  GroupBuilder b;
  GroupProgram program = Schedule(b, Softmax(b, {1, 1'000'000}, {0, 1}));
  EXPECT_EQ(program.calls.size(), 5u);
  EXPECT_EQ(program.workspaces.size(), 4u);
}

// As those of attention between all elements of a sequence.
TEST(GpuRows, RowsThatGetMoreWithTheirLengthHaveNoStages) {
  GroupBuilder b;
  GroupProgram program = Schedule(b, Softmax(b, {N(), M(), M()}, {0, 0, 1}));
  EXPECT_TRUE(program.workspaces.empty());
}

// A NaN of any work-item is the result of all, whether groups share the row or not.
TEST(GpuRows, NotANumberGoesThroughMinAndMax) {
  for (const char* kind : {"min", "max"}) {
    for (auto [dtype, length] :
         {std::pair{DType::kF32, int64_t{700}}, {DType::kF16, 700}, {DType::kF32, 17'000}}) {
      GroupBuilder b;
      b.Output(Reduced(b, b.Input(dtype, {N(), M()}), {0, 1}, kind));
      ir::NodeId node = b.Finish();
      GpuGroup scheduled(b.function(), node);
      constexpr int64_t kRows = 5, kNowhere = -1;
      Symbols symbols = {{"n", kRows}, {"m", length}};
      std::vector<HostTensor> inputs = RandomInputs(GroupView(b.function(), node), symbols);
      const int64_t places[kRows] = {0, 31, 200, length - 1, kNowhere};
      for (int64_t row = 0; row < kRows; ++row)
        if (places[row] != kNowhere)
          inputs[0].set(row * length + places[row], {0, std::numeric_limits<double>::quiet_NaN()});
      for (const std::vector<HostTensor>& given : scheduled.Run(inputs, symbols, kMostEvaluated))
        for (int64_t row = 0; row < kRows; ++row)
          EXPECT_EQ(std::isnan(given[0].at(row).number), places[row] != kNowhere) << row;
    }
  }
}

}  // namespace
}  // namespace tvmvm::tensor
