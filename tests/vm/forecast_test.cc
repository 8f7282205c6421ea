// Forecasts against runs, byte for byte, and their errors.
#include "tvm-vm/forecast.h"

#include <gmock/gmock.h>

#include "devices/null/null_device.h"
#include "tests/vm/c_api_session.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two values of a plan and an output, all of n elements.
constexpr const char* kStraight = R"---(
entry @main
plan p0 [1..2 align 64, 2..3 align 64, 3..4 align 64]
func @main("x": i64[n]) -> ("y": i64[n]) frame 4, 3, 3 {
  i0 = dim r0, 0
  i1 = const 8
  i2 = mul i0, i1
  r1, s0 = slots p0, 0, [i2, i1, i2]
  node "/first (Add)"
  copy [s0, r0], i2
  node "/second (Mul)"
  fill [s1], i1, 0
  node "/third (Sub)"
  copy [s2, r0], i2
  r2 = output 0, [i0]
  copy [r2, s2], i2
  return [], [r2]
}
)---";

Expected<MemoryForecast> Forecast(std::string_view text, const DimRanges& dims, size_t gpus = 0) {
  auto program = Assemble(text);
  EXPECT_TRUE(program) << program.error().message;
  return program ? ForecastMemory(**program, dims, gpus) : MemoryForecast();
}

std::string ErrorOf(std::string_view text, const DimRanges& dims) {
  const Expected<MemoryForecast> forecast = Forecast(text, dims);
  return forecast ? "" : std::string(CodeName(forecast.error().code)) + ": " + forecast.error().message;
}

// What a run on the CPU held at most, where the program takes one tensor of i64 and gives one.
int64_t PeakOf(std::string_view text, std::vector<int64_t> input) {
  auto vm = VmFromText(text);
  if (!vm) return -1;
  Invocation invocation = vm->NewInvocation();
  std::array outputs{Tensor()};
  EXPECT_EQ(TextOf(invocation.Run(std::array{Ints(std::move(input))}, outputs)), "");
  return invocation.peak_bytes();
}

std::vector<int64_t> Elements(int64_t count) { return std::vector<int64_t>(static_cast<size_t>(count), 3); }

TEST(Forecast, IsWhatARunHolds) {
  for (int64_t n : {0, 1, 7, 8, 100, 4097}) {
    const auto forecast = Forecast(kStraight, {{"n", {n, n}}});
    ASSERT_TRUE(forecast) << forecast.error().message;
    EXPECT_TRUE(forecast->peak_bytes.is_exact());
    EXPECT_EQ(forecast->peak_bytes.high, PeakOf(kStraight, Elements(n))) << n;
    EXPECT_EQ(forecast->output_bytes, (ByteRange{8 * n, 8 * n}));
    EXPECT_LE(forecast->lower_bound_bytes.high, forecast->peak_bytes.high);
    EXPECT_THAT(forecast->reasons, IsEmpty());
  }
}

TEST(Forecast, NamesValuesStagesAndDevices) {
  const auto forecast = Forecast(kStraight, {{"n", {100, 100}}});
  ASSERT_TRUE(forecast);
  ASSERT_EQ(forecast->stages.size(), 1u);
  EXPECT_EQ(forecast->stages[0].function, "main");
  EXPECT_EQ(forecast->stages[0].values, 3);
  EXPECT_EQ(forecast->stages[0].bytes, (ByteRange{840, 840})) << "800 bytes in 13 lines, and 8";
  ASSERT_EQ(forecast->values.size(), 4u);
  EXPECT_EQ(forecast->values[0].node, "/first (Add)");
  EXPECT_EQ(forecast->values[1].node, "/second (Mul)");
  EXPECT_EQ(forecast->values[2].node, "/third (Sub)");
  EXPECT_EQ(forecast->values[3].node, "output 'y' of /third (Sub)");
  EXPECT_TRUE(forecast->values[3].is_output);
  EXPECT_EQ(forecast->values[3].stage, -1);
  EXPECT_EQ(forecast->values[0].first, 1u);
  EXPECT_EQ(forecast->values[0].last, 2u);
  ASSERT_EQ(forecast->devices.size(), 1u);
  EXPECT_EQ(forecast->devices[0].name, "cpu");
  EXPECT_EQ(forecast->devices[0].peak_bytes, forecast->peak_bytes);
}

TEST(Forecast, OfARangeHasTheEndsOfItsEnds) {
  const auto low = Forecast(kStraight, {{"n", {4, 4}}}), high = Forecast(kStraight, {{"n", {64, 64}}}),
             range = Forecast(kStraight, {{"n", {4, 64}}});
  ASSERT_TRUE(low && high && range);
  EXPECT_FALSE(range->peak_bytes.is_exact());
  EXPECT_LE(range->peak_bytes.low, low->peak_bytes.low);
  EXPECT_EQ(range->peak_bytes.high, high->peak_bytes.high);
}

// Two stages: of the first one half is free when the second begins, whose values have SIZE bytes.
std::string TwoStages(const std::string& size) {
  return R"---(
entry @main
plan p0 [1..2 align 64, 1..8 align 64]
plan p1 [1..8 align 64, 5..6 align 64, 5..8 align 64]
func @main("x": i64[n]) -> ("y": i64[1]) frame 8, 6, 4 {
  i0 = dim r0, 0
  i1 = const 8
  i2 = mul i0, i1
  i3 = const 0
  i4 = const 1
  r1, s0 = slots p0, 0, [i2, i2]
  copy [s1, r0], i2
  i5 = load r0, i3, i64
  i6 = mul i5, i1
  node "/later (Mul)"
  r2, s2 = slots.among p1, 0, [)---" +
         size + R"---(, i1], [r1, s1]
  fill [s2], )---" +
         size + R"---(, 0
  copy [s3, s1], i1
  r4 = slot.view s2, i3, u8, [)---" +
         size + R"---(]
  r1 = release
  r2 = release
  i7 = const 5000
  r5 = arena i7
  r3 = output 0, [i4]
  copy [r3, r0], i1
  return [], [r3]
}
)---";
}

TEST(Forecast, KnowsWhatLiesInEarlierMemory) {
  const std::string text = TwoStages("i2");
  for (int64_t n : {1, 7, 8, 9, 100, 2000}) {
    const auto forecast = Forecast(text, {{"n", {n, n}}});
    ASSERT_TRUE(forecast) << forecast.error().message;
    EXPECT_EQ(forecast->peak_bytes, (ByteRange{PeakOf(text, Elements(n)), PeakOf(text, Elements(n))})) << n;
    ASSERT_EQ(forecast->stages.size(), 2u);
    ASSERT_GE(forecast->values.size(), 4u);
    EXPECT_EQ(forecast->stages[1].values, 2);
    EXPECT_EQ(forecast->values[2].node, "/later (Mul)");
    EXPECT_EQ(forecast->values[2].stage, 0) << "it lies where the first value lay";
  }
}

TEST(Forecast, BoundsWhatMayLieInEarlierMemory) {
  const std::string text = TwoStages("i6");
  for (const DimRange n : {DimRange{8, 8}, DimRange{100, 100}, DimRange{100, 101}}) {
    const auto forecast = Forecast(text, {{"n", n}});
    ASSERT_TRUE(forecast) << forecast.error().message;
    EXPECT_EQ(forecast->peak_bytes.high, ByteRange::kUnbounded);
    for (int64_t elements : {0, 1, 8, 50, 99, 100, 101, 900}) {
      std::vector<int64_t> input = Elements(n.low);
      input[0] = elements;
      EXPECT_GE(PeakOf(text, input), forecast->peak_bytes.low) << n.low << ", " << elements;
    }
  }
}

// One of two arenas, as the first element says.
constexpr const char* kBranch = R"---(
entry @main
func @main("x": i64[n]) -> ("y": i64[1]) frame 8, 4 {
  i0 = const 0
  i1 = const 1
  i2 = const 1000
  i3 = const 3000
  r1 = output 0, [i1]
  i4 = load r0, i0, i64
  branch.if i4, large
  r2 = arena i2
  jump done
large:
  r2 = arena i3
done:
  r3 = arena i2
  i5 = const 8
  fill [r1], i5, 0
  return [], [r1]
}
)---";

TEST(Forecast, TakesTheWorseOfTwoBranches) {
  const auto forecast = Forecast(kBranch, {{"n", {1, 1}}});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_EQ(forecast->peak_bytes.low, PeakOf(kBranch, {0}));
  EXPECT_EQ(forecast->peak_bytes.high, PeakOf(kBranch, {1}));
}

TEST(Forecast, FollowsTheBranchThatDimsDecide) {
  std::string text = kBranch;
  text.replace(text.find("i4 = load r0, i0, i64"), 21, "i4 = dim r0, 0\n  i4 = le i3, i4");
  for (int64_t n : {1, 5000}) {
    const auto forecast = Forecast(text, {{"n", {n, n}}});
    ASSERT_TRUE(forecast) << forecast.error().message;
    EXPECT_TRUE(forecast->peak_bytes.is_exact());
    EXPECT_EQ(forecast->peak_bytes.high, PeakOf(text, Elements(n)));
  }
}

// x[0] turns, at most 50, each with a tensor of its own; in the end one of as many elements as there were
// turns.
constexpr const char* kLoop = R"---(
entry @main
func @main("x": i64[n]) -> ("y": i64[1]) frame 10, 5 {
  i0 = const 0
  i1 = const 1
  i2 = const 100
  i3 = const 50
  i5 = const 8
  i4 = load r0, i0, i64
  i6 = min i4, i3
  i7 = const 0
  r1 = output 0, [i1]
again:
  r2 = alloc u8, [i2]
  r3 = move.ref r2
  i7 = add i7, i1
  i8 = lt i7, i6
  branch.if i8, again
  r4 = alloc i64, [i7]
  fill [r1], i5, 0
  return [], [r1]
}
)---";

TEST(Forecast, BoundsWhatLoopsCount) {
  const auto forecast = Forecast(kLoop, {{"n", {1, 1}}});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_THAT(forecast->reasons, IsEmpty());
  for (int64_t turns : {1, 2, 3, 50, 1000}) {
    const int64_t peak = PeakOf(kLoop, {turns});
    EXPECT_LE(forecast->peak_bytes.low, peak) << turns;
    EXPECT_GE(forecast->peak_bytes.high, peak) << turns;
  }
  EXPECT_EQ(forecast->peak_bytes.high, PeakOf(kLoop, {50}));
}

// A tensor lives until its last use, beside what a plan has alive there.
TEST(Forecast, TensorsLiveUntilTheirLastUse) {
  std::string text = R"---(
entry @main
plan p0 [1..2 align 64, 3..4 align 64]
func @main("x": i64[n]) -> ("y": i64[n]) frame 3, 3, 2 {
  i0 = dim r0, 0
  i1 = const 640
  i2 = const 64
  r1, s0 = slots p0, 0, [i2, i1]
  r2 = alloc u8, [i1]
  fill [s0], i2, 0
  copy [r2, s0], i2
  fill [s1], i1, 0
  copy [r2, s1], i1
  return [], [r0]
}
)---";
  const auto held = Forecast(text, {{"n", {1, 1}}});
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(held->lower_bound_bytes.high, 640 + 640 - 63);
  const std::string last_use = "  copy [r2, s1], i1\n";
  text.erase(text.find(last_use), last_use.size());
  const auto unused = Forecast(text, {{"n", {1, 1}}});
  ASSERT_TRUE(unused) << unused.error().message;
  EXPECT_EQ(unused->lower_bound_bytes.high, 640 + 64 - 63);
}

TEST(Forecast, SaysWhatNothingBounds) {
  std::string text = kLoop;
  text.replace(text.find("i6 = min i4, i3"), 15, "node \"/trips (Loop)\"\n  i6 = max i4, i3");
  const auto forecast = Forecast(text, {{"n", {1, 1}}});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_FALSE(forecast->peak_bytes.is_bounded());
  EXPECT_GT(forecast->peak_bytes.low, 0);
  ASSERT_EQ(forecast->reasons.size(), 1u);
  EXPECT_THAT(forecast->reasons[0],
              HasSubstr("makes a tensor whose size only data tell (node /trips (Loop))"));
}

TEST(Forecast, OfAListThatGrowsIsUnbounded) {
  const std::string text = R"---(
entry @main
func @main("x": i64[n]) -> ("y": sequence<i64[?]>) frame 4, 3 {
  [], [r1] = host 1, [], [r0]
  return [], [r1]
}
)---";
  const auto forecast = Forecast(text, {{"n", {1, 1}}});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_FALSE(forecast->peak_bytes.is_bounded());
  EXPECT_THAT(forecast->reasons, ElementsAre(HasSubstr("sequence.construct makes what only data tell")));
}

TEST(Forecast, CountsWhatInputsAreMadeOf) {
  const std::string text = R"---(
entry @main
func @main("s": sequence<i64[?]>) -> ("t": sequence<i64[?]>) frame 1, 1 {
  return [], [r0]
}
)---";
  const auto forecast = Forecast(text, {});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_FALSE(forecast->peak_bytes.is_bounded());
  EXPECT_THAT(forecast->reasons, ElementsAre("input 's' is no tensor of a known size"));
}

// An input that is an output, too, is copied for the caller.
TEST(Forecast, CountsCopiesOfInputs) {
  const std::string text = R"---(
entry @main
func @main("x": i64[n]) -> ("y": i64[n]) frame 1, 1 {
  return [], [r0]
}
)---";
  const auto forecast = Forecast(text, {{"n", {100, 100}}});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_TRUE(forecast->peak_bytes.is_exact());
  EXPECT_EQ(forecast->peak_bytes.high, PeakOf(text, Elements(100)));
}

constexpr const char* kCalls = R"---(
entry @main
plan p0 [0..1 align 64, 0..1 align 64]
func @inner("a": i64[k]) -> ("b": i64[k]) frame 6, 3 {
  i0 = dim r0, 0
  i1 = const 8
  i2 = mul i0, i1
  r1 = arena i2
  r2 = alloc i64, [i0]
  copy [r2, r0], i2
  return [], [r2]
}
func @main("x": i64[n]) -> ("y": i64[n]) frame 8, 5 {
  i0 = dim r0, 0
  i1 = const 8
  i2 = mul i0, i1
  i3, [i4, i5] = plan p0, [i2, i2]
  r1 = arena i3
  [], [r2] = call @inner, [], [r0]
  [], [r3] = call @inner, [], [r2]
  r4 = output 0, [i0]
  copy [r4, r3], i2
  return [], [r4]
}
)---";

TEST(Forecast, FollowsCalls) {
  for (int64_t n : {1, 8, 1000}) {
    const auto forecast = Forecast(kCalls, {{"n", {n, n}}});
    ASSERT_TRUE(forecast) << forecast.error().message;
    EXPECT_TRUE(forecast->peak_bytes.is_exact());
    EXPECT_EQ(forecast->peak_bytes.high, PeakOf(kCalls, Elements(n))) << n;
  }
}

TEST(Forecast, OfARecursionSaysThatDataBoundIt) {
  const std::string text = R"---(
entry @main
func @down() -> () scalars 1 -> 1 frame 4, 1 {
  i1 = const 1
  i2 = le i0, i1
  branch.if i2, base
  i3 = const 64
  r0 = arena i3
  i3 = sub i0, i1
  [i3], [] = call @down, [i3], []
  return [i3], []
base:
  return [i1], []
}
func @main("x": i64[1]) -> ("y": i64[1]) frame 4, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  [i2], [] = call @down, [i2], []
  r1 = output 0, [i1]
  store r1, i0, i64, i2
  return [], [r1]
}
)---";
  const auto forecast = Forecast(text, {});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_FALSE(forecast->peak_bytes.is_bounded());
  EXPECT_THAT(forecast->reasons, ElementsAre(HasSubstr("@down:22 calls itself, as deep as data say")));
}

TEST(Forecast, CountsEachDevice) {
  const std::string text = R"---(
entry @main
entry [1, 0] @gpu
func @main("x": i64[n]) -> ("y": i64[n]) frame 2, 2 {
  i0 = dim r0, 0
  r1 = output 0, [i0]
  return [], [r1]
}
func @gpu("x": i64[n]) -> ("y": i64[n]) frame 4, 4 {
  i0 = dim r0, 0
  i1 = const 8
  i2 = mul i0, i1
  i3 = const 64
  r2 = arena.on 1, i2
  r3 = arena i3
  copy [r2, r0], i2
  r1 = output 0, [i0]
  copy [r1, r2], i2
  return [], [r1]
}
)---";
  const auto alone = Forecast(text, {{"n", {100, 100}}});
  const auto both = Forecast(text, {{"n", {100, 100}}}, 1);
  ASSERT_TRUE(alone && both);
  EXPECT_EQ(alone->devices.size(), 1u);
  EXPECT_EQ(alone->peak_bytes.high, 800);
  ASSERT_EQ(both->devices.size(), 2u);
  EXPECT_EQ(both->devices[0].peak_bytes.high, 864);
  EXPECT_EQ(both->devices[1].name, "gpu");
  EXPECT_EQ(both->devices[1].peak_bytes.high, 800);
  VmOptions options = TestOptions();
  options.devices = {CreateNullDevice({})};
  auto vm = VmFromText(text, options);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array outputs{Tensor()};
  ASSERT_EQ(TextOf(invocation.Run(std::array{Ints(Elements(100))}, outputs)), "");
  const auto planned = vm->Plan({{"n", {100, 100}}});
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->peak_bytes.high, invocation.peak_bytes());
}

TEST(Forecast, RefusesDimsThatCannotBe) {
  EXPECT_EQ(ErrorOf(kStraight, {}), "invalid_argument: no size is given for 'n'; wanted are sizes of 'n'");
  EXPECT_EQ(ErrorOf(kStraight, {{"n", {1, 1}}, {"m", {1, 1}}}),
            "invalid_argument: the program has no dimension 'm'; its dimensions are 'n'");
  EXPECT_EQ(ErrorOf(kStraight, {{"n", {-4, -4}}}),
            "invalid_argument: dimension 'n' is -4, a size is 0 or more");
  EXPECT_EQ(ErrorOf(kStraight, {{"n", {8, 1}}}),
            "invalid_argument: dimension 'n': the range from 8 to 1 is empty");
  const int64_t huge = INT64_MAX / 4;
  EXPECT_EQ(ErrorOf(kStraight, {{"n", {huge, huge}}}),
            "invalid_argument: @main:8 mul: of 2305843009213693951 and 8 there is no 64-bit result");
  EXPECT_EQ(ErrorOf(kBranch, {{"m", {1, 1}}}),
            "invalid_argument: the program has no dimension 'm'; its dimensions are 'n'");
}

TEST(Forecast, KnowsTheProgramsBounds) {
  auto program = Assemble(kStraight);
  ASSERT_TRUE(program);
  auto bounded = std::make_shared<Program>(**program);
  bounded->functions[bounded->entry.index].inputs[0].type.dims[0].low = 2;
  bounded->functions[bounded->entry.index].inputs[0].type.dims[0].high = 16;
  EXPECT_THAT(ForecastDims(*bounded), ElementsAre("n"));
  const auto open = ForecastMemory(*bounded, {}), highest = ForecastMemory(*bounded, {{"n", {16, 16}}});
  ASSERT_TRUE(open && highest);
  EXPECT_EQ(open->peak_bytes.high, highest->peak_bytes.high);
  const auto outside = ForecastMemory(*bounded, {{"n", {1, 17}}});
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().message, "dimension 'n' is 1 to 17, the program takes 2 to 16");
}

TEST(Forecast, NamesADimensionByItsPlace) {
  std::string text = kStraight;
  for (size_t at; (at = text.find("[n]")) != std::string::npos;) text.replace(at, 3, "[?]");
  EXPECT_EQ(ErrorOf(text, {}), "invalid_argument: no size is given for 'x[0]'; wanted are sizes of 'x[0]'");
  const auto forecast = Forecast(text, {{"x[0]", {9, 9}}});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_EQ(forecast->peak_bytes.high, PeakOf(text, Elements(9)));
}

TEST(Forecast, OfWhatAGuardRefusesIsItsMessage) {
  std::string text = kStraight;
  text.replace(
      text.find("  i1 = const 8"), 14,
      "  i1 = const 3\n  i3 = le i0, i1\n  guard i3, \"n is {0}, at most {1}\", [i0, i1]\n  i1 = const 8");
  EXPECT_EQ(ErrorOf(text, {{"n", {3, 3}}}), "");
  EXPECT_EQ(ErrorOf(text, {{"n", {5, 5}}}), "invalid_argument: @main:12 guard: n is 5, at most 3");
  const auto range = Forecast(text, {{"n", {1, 100}}}), most = Forecast(text, {{"n", {3, 3}}});
  ASSERT_TRUE(range && most);
  EXPECT_EQ(range->peak_bytes.high, most->peak_bytes.high) << "larger ones do not run";
}

TEST(Forecast, FromC) {
  const CSession session(kStraight);
  const char* names[] = {"n"};
  const int64_t low[] = {100}, high[] = {100};
  tvmvm_forecast forecast = {};
  forecast.size = sizeof forecast;
  ASSERT_EQ(Take(tvmvm_vm_plan(session.vm, names, low, high, 1, &forecast)), "");
  EXPECT_EQ(forecast.peak_bytes, PeakOf(kStraight, Elements(100)));
  EXPECT_EQ(forecast.least_peak_bytes, forecast.peak_bytes);
  EXPECT_EQ(forecast.output_bytes, 800);
  EXPECT_THAT(Take(tvmvm_vm_plan(session.vm, nullptr, nullptr, nullptr, 0, &forecast)),
              HasSubstr("no size is given for 'n'"));
  EXPECT_THAT(Take(tvmvm_vm_plan(session.vm, nullptr, low, high, 1, &forecast)),
              HasSubstr("names, low or high is null"));
  EXPECT_THAT(Take(tvmvm_vm_plan(nullptr, names, low, high, 1, &forecast)), HasSubstr("is null"));
  forecast.size = 1;
  EXPECT_THAT(Take(tvmvm_vm_plan(session.vm, names, low, high, 1, &forecast)),
              HasSubstr("forecast.size is 1"));
}

TEST(MemoryPool, FromC) {
  const std::vector<std::byte> bytes = CSession::BytesOf(kStraight);
  tvmvm_program* program = nullptr;
  ASSERT_EQ(Take(tvmvm_program_load_from_memory(bytes.data(), bytes.size(), &program)), "");
  tvmvm_memory_pool* pool = nullptr;
  EXPECT_THAT(Take(tvmvm_memory_pool_create(-1, &pool)), HasSubstr("max_bytes is -1"));
  ASSERT_EQ(Take(tvmvm_memory_pool_create(20'000, &pool)), "");
  tvmvm_vm_options options = {};
  options.size = sizeof options;
  options.memory = pool;
  tvmvm_vm* vm = nullptr;
  ASSERT_EQ(Take(tvmvm_vm_create(program, &options, &vm)), "");
  tvmvm_invocation* invocation = nullptr;
  ASSERT_EQ(Take(tvmvm_invocation_create(vm, &invocation)), "");
  auto run = [&](int64_t n) {
    std::vector<int64_t> x(static_cast<size_t>(n));
    tvmvm_tensor *input = nullptr, *output = nullptr;
    EXPECT_EQ(Take(tvmvm_tensor_borrow(TVMVM_I64, &n, 1, x.data(), &input)), "");
    std::string message = Take(tvmvm_invocation_run(invocation, &input, 1, &output, 1));
    tvmvm_tensor_free(input);
    tvmvm_tensor_free(output);
    return message;
  };
  EXPECT_EQ(run(100), "");
  const int64_t held = tvmvm_invocation_held_bytes(invocation);
  EXPECT_GT(tvmvm_memory_pool_held_bytes(pool), held) << "the plan is the VM's";
  EXPECT_LT(tvmvm_memory_pool_held_bytes(pool), held + 400);
  EXPECT_GT(held, 800);
  EXPECT_THAT(run(10'000), HasSubstr("are in use by the memory pool and the limit is 20000"));
  EXPECT_EQ(run(100), "");
  EXPECT_GT(tvmvm_memory_pool_peak_bytes(pool), tvmvm_memory_pool_held_bytes(pool));
  tvmvm_invocation_free(invocation);
  tvmvm_vm_free(vm);
  EXPECT_EQ(tvmvm_memory_pool_held_bytes(pool), 0);
  tvmvm_memory_pool_free(pool);
  tvmvm_program_free(program);
  EXPECT_EQ(tvmvm_memory_pool_held_bytes(nullptr), 0);
}

}  // namespace
}  // namespace tvmvm
