// Whatever a schedule says, what it allows gives right results: groups of each family, with random values of
// all parameters, against the operators' definitions.
#include "compiler/schedules/gpu/schedule_gpu_product.h"
#include "compiler/schedules/schedule_overrides.h"
#include "tests/compiler/schedules/group_harness.h"
#include "tests/compiler/schedules/random_schedule.h"

namespace tvmvm::tensor {
namespace {

using ir::Dims;
using ir::ValueId;
using Ints = std::vector<int64_t>;

constexpr unsigned kSchedules = 4;

void CheckAnySchedule(const std::function<void(GroupBuilder&)>& build, const std::vector<Symbols>& cases,
                      bool on_gpus = true) {
  GroupBuilder builder;
  build(builder);
  const ir::NodeId node = builder.Finish();
  for (unsigned seed = 1; seed <= kSchedules; ++seed) {
    const std::string text = RandomSchedules(seed);
    SCOPED_TRACE(text);
    const ScheduleOverrides overrides = ScheduleOverrides::Parse(text, "random").value();
    ScheduledGroup scheduled(builder.function(), node, on_gpus, &overrides);
    for (const Symbols& symbols : cases) {
      scheduled.Check(symbols, 1e-4);
      if (testing::Test::HasFailure()) return;
    }
  }
}

ValueId Contract(GroupBuilder& b, ValueId x, ValueId y, const Ints& batch, const Ints& lhs, const Ints& rhs) {
  return b.Add("contract", {x, y},
               {{"lhs_batch", batch},
                {"rhs_batch", batch},
                {"lhs_contract", lhs},
                {"rhs_contract", rhs},
                {"dtype", DType::kF32}});
}

TEST(AnyScheduleTest, ProductsByConstants) {
  for (int64_t columns : {48, 100})
    CheckAnySchedule(
        [&](GroupBuilder& b) {
          ValueId x = b.Input(DType::kF32, {M(), 23}), w = b.Constant(DType::kF32, {23, columns});
          b.Output(b.Add("max", {Contract(b, x, w, {}, {1}, {0}), b.Number(0)}));
        },
        {{{"m", 5}}, {{"m", 37}}});
}

TEST(AnyScheduleTest, ProductsOfTwoInputs) {
  for (bool is_transposed : {false, true})
    CheckAnySchedule(
        [&](GroupBuilder& b) {
          ValueId x = b.Input(DType::kF32, {2, M(), 18});
          ValueId y = is_transposed ? b.Input(DType::kF32, {2, N(), 18}) : b.Input(DType::kF32, {2, 18, N()});
          b.Output(Contract(b, x, y, {0}, {2}, {is_transposed ? 2 : 1}));
        },
        {{{"m", 1}, {"n", 70}}, {{"m", 3}, {"n", 20}}, {{"m", 29}, {"n", 130}}});
}

// Tiles that can be divided so, of any sizes, and groups that share the depth.
TEST(AnyScheduleTest, TilesOfGpus) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {M(), 84}), y = b.Input(DType::kF32, {84, N()});
  b.Output(Contract(b, x, y, {}, {1}, {0}));
  const ir::NodeId node = b.Finish();
  const GroupView group(b.function(), node);
  std::mt19937 random(1);
  for (int i = 0; i < 8; ++i) {
    ProductTile tile;
    do {
      for (const ScheduleParameter& parameter : ProductTile::kFamily.parameters)
        parameter.set(&tile, RandomValue(parameter.allowed, random));
    } while (!IsPossibleEverywhere(tile));
    const std::string text =
        WriteSchedules({{"gpu", Describe("", tile)}}) +
        fmt::format(
            "gpu_product[]@gpu: thin_rows=0 few_tiles=0 long_depth=1 shortest_share={} busy_large={}\n",
            i % 2 == 0 ? 16 : 1000, i % 4 == 3 ? 0 : 1000);
    SCOPED_TRACE(text);
    const ScheduleOverrides overrides = ScheduleOverrides::Parse(text, "random").value();
    GpuGroup scheduled(b.function(), node, &overrides);
    const Symbols symbols{{"m", 37}, {"n", 45}};
    const std::vector<HostTensor> inputs = RandomInputs(group, symbols);
    const std::vector<HostTensor> wanted = RunNaively(group, inputs, symbols);
    const auto runs = scheduled.Run(inputs, symbols, 20 * GpuGroup::kMostEvaluated);
    ASSERT_FALSE(runs.empty());
    for (const std::vector<HostTensor>& given : runs) CompareTensors(wanted[0], given[0], 1e-4, 0);
    if (HasFailure()) return;
  }
}

void CheckConvolution(bool channels_last, int64_t groups, int64_t channels, int64_t outputs) {
  CheckAnySchedule(
      [&](GroupBuilder& b) {
        ValueId x = channels_last ? b.Input(DType::kF32, {N(), 9, 8, channels})
                                  : b.Input(DType::kF32, {N(), channels, 9, 8});
        ValueId w = b.Constant(DType::kF32, {outputs, channels / groups, 3, 3});
        b.Output(b.Add("conv", {x, w},
                       {{"strides", Ints{1, 1}},
                        {"dilations", Ints{1, 1}},
                        {"low", Dims{1, 1}},
                        {"high", Dims{1, 1}},
                        {"groups", groups},
                        {"dtype", DType::kF32},
                        {"layout", channels_last ? ir::Layout::kChannelsLast : ir::Layout::kChannelsFirst}}));
      },
      {{{"n", 1}}, {{"n", 2}}});
}

TEST(AnyScheduleTest, Convolutions) {
  for (bool channels_last : {false, true}) {
    CheckConvolution(channels_last, 1, 5, 70);
    CheckConvolution(channels_last, 2, 6, 34);
  }
}

TEST(AnyScheduleTest, DepthwiseConvolutions) {
  for (bool channels_last : {false, true}) CheckConvolution(channels_last, 19, 19, 19);
  CheckConvolution(true, 6, 18, 24);
}

TEST(AnyScheduleTest, Windows) {
  CheckAnySchedule(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {N(), 13, M()});
        b.Output(b.Add("window", {x},
                       {{"kind", std::string("max")},
                        {"kernel", Ints{1, 3, 3}},
                        {"strides", Ints{1, 1, 2}},
                        {"dilations", Ints{1, 1, 1}},
                        {"low", Dims{0, 1, 1}},
                        {"high", Dims{0, 1, 1}},
                        {"dims", Dims{N(), 13, FloorDiv(M() - 1, 2) + 1}}}));
      },
      {{{"n", 2}, {"m", 7}}, {{"n", 1}, {"m", 90}}});
}

TEST(AnyScheduleTest, Rows) {
  for (int64_t axis : {0, 1})
    CheckAnySchedule(
        [&](GroupBuilder& b) {
          ValueId x = b.Input(DType::kF32, {M(), N()});
          auto reduce = [&](const char* kind, ValueId value) {
            return b.Add("reduce", {value}, {{"flags", Dims{1 - axis, axis}}, {"kind", std::string(kind)}});
          };
          ValueId e = b.Add("exp", {b.Add("sub", {x, reduce("max", x)})});
          b.Output(b.Add("div", {e, reduce("sum", e)}));
        },
        {{{"m", 3}, {"n", 70}}, {{"m", 65}, {"n", 9}}, {{"m", 1}, {"n", 300}}});
}

TEST(AnyScheduleTest, Pulls) {
  CheckAnySchedule(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {M(), N()}), y = b.Input(DType::kF32, {N()});
        b.Output(b.Add("tanh", {b.Add("mul", {x, y})}));
      },
      {{{"m", 3}, {"n", 70}}, {{"m", 1}, {"n", 1}}, {{"m", 40}, {"n", 513}}});
}

TEST(AnyScheduleTest, Reductions) {
  for (int64_t axis : {0, 1})
    CheckAnySchedule(
        [&](GroupBuilder& b) {
          ValueId x = b.Input(DType::kF32, {M(), N()});
          b.Output(b.Add("reduce", {x}, {{"flags", Dims{1 - axis, axis}}, {"kind", std::string("sum")}}));
        },
        {{{"m", 3}, {"n", 70}}, {{"m", 65}, {"n", 3}}, {{"m", 1}, {"n", 300}}});
}

TEST(AnyScheduleTest, Transposes) {
  CheckAnySchedule(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {2, M(), N()});
        b.Output(b.Add("transpose", {x}, {{"perm", Ints{0, 2, 1}}}));
      },
      {{{"m", 33}, {"n", 70}}, {{"m", 5}, {"n", 200}}});
}

}  // namespace
}  // namespace tvmvm::tensor
