// Launches that do not fulfil the contract of their kernel end before the kernel begins.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::HasSubstr;

// y = x + s1 on s0 elements.
int32_t AddSome(const KernelArgs* args, int64_t, int64_t) {
  auto x = static_cast<const float*>(args->buffers[0]);
  auto y = static_cast<float*>(args->buffers[1]);
  for (int64_t i = 0; i < args->scalars[0]; ++i) y[i] = x[i] + static_cast<float>(args->scalars[1]);
  return 0;
}

VmOptions SomeOptions() {
  VmOptions options = TestOptions();
  options.jit = std::make_shared<TestJit>(std::map<std::string, KernelFunction>{{"some", &AddSome}});
  return options;
}

constexpr std::string_view kContract =
    "s0*8; s0*4; s0*4 + 16; le(0, s0); le(s0, 1000); eq(x, s0); eq(y, 1); eq(z, 1); ne(s1, 13)";

// The arguments of one launch; what the program gives is right.
struct Launch {
  int64_t grid[3] = {4, 1, 1};
  int64_t scratch = 32;
  int64_t scalars[2] = {4, 1};
  int64_t bytes[2] = {16, 32};  // of the slots
  int64_t offset = 0;           // in the second one
};

std::string ProgramOf(const Launch& launch, std::string_view before = "") {
  return fmt::format(
      R"---(entry @main
kernel @some cpu symbol "some" scalars 2 buffers [read, write] contract "{}"
plan p0 [0..1 align 64, 0..1 align 64]
func @main("x": i64[1]) -> ("y": i64[1]) frame 16, 3, 2 {{
  i0 = const 0
  i1 = const 1
  i2 = const {}
  i3 = const {}
  i4 = const {}
  i5 = const {}
  i6 = const {}
  i7 = const {}
  i8 = const {}
  i9 = const {}
  i10 = const {}
  i11 = const 4
  i12 = const 32
  r1 = output 0, [i1]
  store r1, i0, i64, i1
  r2, s0 = slots p0, 0, [i8, i9]
{}  launch @some, 0, [i2, i3, i4, i5, i0, i0], [i6, i7], [s0, s1+i10]
  return [], [r1]
}}
)---",
      kContract, launch.grid[0], launch.grid[1], launch.grid[2], launch.scratch, launch.scalars[0],
      launch.scalars[1], launch.bytes[0], launch.bytes[1], launch.offset, before);
}

std::string ErrorOf(const std::string& text) {
  auto vm = VmFromText(text, SomeOptions());
  if (!vm) return "no vm";
  int64_t one = 1;
  std::array inputs{Tensor::Borrow(DType::kI64, Shape{1}, &one)};
  std::array outputs{Tensor()};
  Invocation invocation = vm->NewInvocation();
  const std::string first = TextOf(invocation.Run(inputs, outputs));
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), first) << "once more";
  return first;
}

TEST(LaunchContracts, ALaunchThatFulfilsItRuns) {
  EXPECT_EQ(ErrorOf(ProgramOf(Launch())), "");
  EXPECT_EQ(ErrorOf(ProgramOf({.grid = {0, 1, 1}, .scratch = 0, .scalars = {0, -5}, .bytes = {0, 16}})), "");
  EXPECT_EQ(ErrorOf(ProgramOf({.bytes = {100, 100}, .offset = 60})), "") << "more than is wanted";
}

struct Hostile {
  Launch launch;
  std::string_view error;
};

TEST(LaunchContracts, HostileLaunchesAreErrors) {
  constexpr int64_t kLarge = int64_t{1} << 61;
  const Hostile table[] = {
      {{.bytes = {15, 32}}, "is given 15 bytes as buffer 0, where it wants 16"},
      {{.bytes = {0, 32}}, "is given 0 bytes as buffer 0, where it wants 16"},
      {{.bytes = {16, 31}}, "is given 31 bytes as buffer 1, where it wants 32"},
      {{.bytes = {16, 40}, .offset = 12}, "is given 28 bytes as buffer 1, where it wants 32"},
      {{.bytes = {16, 40}, .offset = 40}, "is given 0 bytes as buffer 1, where it wants 32"},
      {{.scratch = 31},
       "[4, 1, 1, 31, 4, 1] as grid, bytes of scratch and scalars, which is not as 's0*8' wants"},
      {{.scratch = 0}, "as 's0*8' wants"},
      {{.grid = {-4, 1, 1}, .scalars = {-4, 1}}, "as 'le(0, s0)' wants"},
      {{.scalars = {INT64_MIN, 1}}, "as 's0*8' wants"},
      {{.scalars = {kLarge, 1}}, "as 's0*8' wants"},
      {{.grid = {5, 1, 1}}, "as 'eq(x, s0)' wants"},
      {{.grid = {kLarge, 1, 1}}, "as 'eq(x, s0)' wants"},
      {{.grid = {4, 2, 1}}, "as 'eq(y, 1)' wants"},
      {{.grid = {4, 1, 0}}, "as 'eq(z, 1)' wants"},
      {{.grid = {1001, 1, 1}, .scratch = 8008, .scalars = {1001, 1}}, "as 'le(s0, 1000)' wants"},
      {{.scalars = {4, 13}}, "as 'ne(s1, 13)' wants"},
  };
  for (const Hostile& row : table) {
    const std::string error = ErrorOf(ProgramOf(row.launch));
    EXPECT_THAT(error, HasSubstr("invalid_program: @main:")) << row.error;
    EXPECT_THAT(error, HasSubstr(fmt::format("launch: kernel 'some' is given ")));
    EXPECT_THAT(error, HasSubstr(std::string(row.error)));
  }
}

// Of launches with two sets of numbers in turns each one is held to what goes with its own.
TEST(LaunchContracts, TwoSetsOfNumbersInTurnsAreEachLookedAt) {
  constexpr std::string_view kOne = "  launch @some, 0, [i11, i1, i1, i12, i0, i0], [i11, i1], [s0, s1]\n";
  constexpr std::string_view kTwo = "  launch @some, 0, [i1, i1, i1, i12, i0, i0], [i1, i0], [s0, s1]\n";
  constexpr std::string_view kShort =
      "  launch @some, 0, [i11, i1, i1, i12, i0, i0], [i11, i1], [s0, s1+i12]\n";
  const std::string turns = fmt::format("{0}{1}{0}{1}", kOne, kTwo);
  const Launch third{.grid = {3, 1, 1}, .scalars = {3, 2}, .bytes = {64, 52}};
  EXPECT_EQ(ErrorOf(ProgramOf(third, turns)), "");
  EXPECT_EQ(
      ErrorOf(ProgramOf({.grid = {1, 1, 1}, .scalars = {1, 0}, .bytes = {64, 52}, .offset = 32}, turns)), "");
  EXPECT_THAT(ErrorOf(ProgramOf(third, turns + std::string(kShort))),
              HasSubstr("20 bytes as buffer 1, where it wants 32"));
  EXPECT_THAT(ErrorOf(ProgramOf({.grid = {4, 1, 1}, .scalars = {1, 0}, .bytes = {64, 52}}, turns)),
              HasSubstr("'eq(x, s0)'"));
  EXPECT_THAT(ErrorOf(ProgramOf({.grid = {1, 1, 1}, .bytes = {64, 52}}, turns)), HasSubstr("'eq(x, s0)'"));
}

// What was right for one launch says nothing of the next one.
TEST(LaunchContracts, EachLaunchIsLookedAt) {
  constexpr std::string_view kRight = "  launch @some, 0, [i11, i1, i1, i12, i0, i0], [i11, i1], [s0, s1]\n";
  EXPECT_EQ(ErrorOf(ProgramOf({.bytes = {64, 64}}, kRight)), "");
  EXPECT_EQ(ErrorOf(ProgramOf({.grid = {3, 1, 1}, .scalars = {3, 2}, .bytes = {64, 64}}, kRight)), "");
  EXPECT_THAT(ErrorOf(ProgramOf({.bytes = {64, 64}, .offset = 36}, kRight)),
              HasSubstr("28 bytes as buffer 1, where it wants 32"));
  EXPECT_THAT(ErrorOf(ProgramOf({.grid = {5, 1, 1}, .bytes = {64, 64}}, kRight)), HasSubstr("'eq(x, s0)'"));
  EXPECT_THAT(ErrorOf(ProgramOf({.scratch = 1, .bytes = {64, 64}}, kRight)), HasSubstr("'s0*8'"));
  EXPECT_THAT(
      ErrorOf(ProgramOf({.grid = {20, 1, 1}, .scratch = 160, .scalars = {20, 1}, .bytes = {64, 96}}, kRight)),
      HasSubstr("64 bytes as buffer 0, where it wants 80"));
}

// Launches as many points as the input says, with 32 bytes in each buffer.
constexpr std::string_view kOnDevice = R"---(entry @main
entry [1, 0] @gpu
kernel @some gpu symbol "some" scalars 1 buffers [read, write] contract "0; s0*8; s0*8; le(0, s0); eq(x, s0); eq(y, 1); eq(z, 1)"
func @main("x": i64[1]) -> ("y": i64[1]) frame 2, 2 {
  i1 = const 1
  r1 = output 0, [i1]
  return [], [r1]
}
func @gpu("x": i64[1]) -> ("y": i64[1]) frame 4, 4 {
  i0 = const 0
  i1 = const 1
  i2 = const 32
  i3 = load r0, i0, i64
  r1 = output 0, [i1]
  store r1, i0, i64, i3
  r2 = arena.on 1, i2
  r3 = arena.on 1, i2
  launch @some, 1, [i3, i1, i1, i0, i0, i0], [i3], [r2, r3]
  return [], [r1]
}
)---";

// Nothing is submitted of a launch that does not fulfil it, and the Invocation lives on.
TEST(LaunchContracts, LaunchesOnDevicesAreLookedAt) {
  VmOptions options = TestOptions();
  const auto device = CreateNullDevice({});
  options.devices = {device};
  auto vm = VmFromText(kOnDevice, options);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  const auto outcome = [&](int64_t points) {
    std::array inputs{Tensor::Borrow(DType::kI64, Shape{1}, &points)};
    std::array outputs{Tensor()};
    return TextOf(invocation.Run(inputs, outputs));
  };
  EXPECT_EQ(outcome(4), "");
  EXPECT_THAT(outcome(5), HasSubstr("kernel 'some' is given 32 bytes as buffer 0, where it wants 40"));
  EXPECT_THAT(outcome(-1), HasSubstr("[-1, 1, 1, 0, -1] as grid, bytes of scratch and scalars, which is not "
                                     "as 'le(0, s0)' wants"));
  EXPECT_THAT(outcome(INT64_MAX), HasSubstr("as 's0*8' wants"));
  EXPECT_EQ(device->statistics().launches, 1);
  EXPECT_EQ(outcome(3), "");
  EXPECT_EQ(outcome(4), "");
  EXPECT_EQ(device->statistics().launches, 3);
}

}  // namespace
}  // namespace tvmvm
