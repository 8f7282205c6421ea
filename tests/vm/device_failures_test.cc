// What a device fails at, and what runs are told: the null device, which fails when it is asked to.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>

#include "tests/vm/device_program.h"

namespace tvmvm {
namespace {

using namespace std::chrono_literals;
using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DeviceFailures, PlacesOutsideOfMemoryAreErrors) {
  EXPECT_THAT(ErrorOf(std::string(kThere) + "copy [r1, r2+i2], i3\n"),
              HasSubstr("copy: 16 bytes at offset 8 of r2, which has 16 bytes (node /m (M))"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "copy [r2+i2, r0], i3\n"),
              HasSubstr("16 bytes at offset 8 of r2"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "copy [r1+i2, r2], i3\n"),
              HasSubstr("16 bytes at offset 8 of r1"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "fill [r2+i2], i3, 0\n"),
              HasSubstr("16 bytes at offset 8 of r2"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "i5 = load r2, i3, i64\n"),
              HasSubstr("8 bytes at offset 16 of r2"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "store r2, i3, i64, i0\n"),
              HasSubstr("8 bytes at offset 16 of r2"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "r3 = view r2, i4, i64, [i1]\n"),
              HasSubstr("elements of i64 at offset 2 of r2, whose address is no multiple of 8"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "launch @whole, 1, [i1, i1, i1], [], [r2, r2+i4]\n"),
              HasSubstr("kernel 'whole' is given r2 (buffer 1) at an address that is no multiple of 8"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "r3 = view r2, i3, i64, [i1]\n"),
              HasSubstr("8 bytes at offset 16 of r2"));
}

// The wait fails with copies to the host on their way: they never arrive, in that run or in the next.
TEST(DeviceFailures, NothingIsWrittenToTheHostAfterAWaitThatFailed) {
  const VmOptions options = WithNull({.fail_wait = 1});
  auto vm = VmFromText(Body(std::string(kThere) + "copy [r1, r2], i3\n"), options);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array first{Ints({7, 7})};
  EXPECT_THAT(TextOf(invocation.Run(std::array{Ints({3, 4})}, first)),
              HasSubstr("out_of_memory: @gpu:36 copy: null: no memory to submit with (node"));
  std::array second{Ints({0, 0})};
  EXPECT_EQ(TextOf(invocation.Run(std::array{Ints({5, 6})}, second)), "");
  EXPECT_THAT(ToInts(second[0]), ElementsAre(5, 6));
  EXPECT_THAT(ToInts(first[0]), ElementsAre(7, 7)) << "the caller has it back";
}

// The same where an element was to arrive on the stack.
TEST(DeviceFailures, AnElementIsNotWrittenAfterAWaitThatFailed) {
  const VmOptions options = WithNull({.fail_wait = 1});
  auto vm = VmFromText(Body(std::string(kThere) + "i5 = load r2, i2, i64\n store r1, i0, i64, i5\n"
                                                  "store r1, i2, i64, i5\n"),
                       options);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array outputs{Tensor()};
  EXPECT_THAT(TextOf(invocation.Run(std::array{Ints({3, 4})}, outputs)),
              HasSubstr("no memory to submit with"));
  EXPECT_EQ(TextOf(invocation.Run(std::array{Ints({3, 4})}, outputs)), "");
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(4, 4));
}

TEST(DeviceFailures, AFailedKernelIsNamedWhereTheHostWaits) {
  const std::string launch = "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r2]\n";
  EXPECT_EQ(ErrorOf(kThere + launch + "copy [r1, r2], i3\n", WithNull({.fail_launch = 1})),
            "invalid_argument: @gpu:36 launch: kernel 'k': an index is out of range (node /m (M))");
  EXPECT_THAT(ErrorOf(kThere + launch, WithNull({.fail_launch = 1, .failure_code = 7})),
              HasSubstr("kernel 'k': failed with code 7"));
  // The next run knows nothing of it.
  auto vm = VmFromText(Body(kThere + launch + "copy [r1, r2], i3\n"), WithNull({.fail_launch = 1}));
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array inputs{Ints({3, 4})};
  std::array outputs{Tensor()};
  EXPECT_FALSE(invocation.Run(inputs, outputs));
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(3, 4));
}

TEST(DeviceFailures, ALostDeviceEndsTheRunAtAnyPoint) {
  const std::string body = std::string(kThere) +
                           "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r2]\n fill [r2], i2, 0\n"
                           "r3 = alloc.on 1, i64, [i4]\n copy [r3, r2], i3\n i5 = load r3, i0, i64\n"
                           "store r3, i0, i64, i5\n copy [r1, r3], i3\n";
  constexpr int kSubmits = 7;
  for (int n = 1; n <= kSubmits; ++n) {
    const VmOptions options = WithNull({.lose_at_submit = n});
    EXPECT_THAT(ErrorOf(body, options), HasSubstr("null: the device is lost (node /m (M))")) << n;
    EXPECT_EQ(options.devices[0]->statistics().live_bytes, 0) << n;
  }
  EXPECT_EQ(ErrorOf(body, WithNull({.lose_at_submit = kSubmits + 1})), "");
}

// So that a run can end between them.
TEST(DeviceFailures, LargeCopiesGoByPieces) {
  const std::string body = R"(
  i5 = const 12582920
  i6 = const 1572865
  i7 = const 12582904
  r2 = alloc i64, [i6]
  copy [r2+i7, r0], i3
  r3 = arena.on 1, i5
  copy [r3, r2], i5
  r4 = alloc i64, [i6]
  copy [r4, r3], i5
  copy [r1, r4+i7], i3
)";
  EXPECT_THAT(Numbers(body), ElementsAre(3, 4));
  constexpr int kPieces = 4;  // each way
  for (int n = 1; n <= 2 * kPieces; ++n)
    EXPECT_THAT(ErrorOf(body, WithNull({.lose_at_submit = n})), HasSubstr("the device is lost")) << n;
  EXPECT_EQ(ErrorOf(body, WithNull({.lose_at_submit = 2 * kPieces + 1})), "");
}

// The caller's, which lie there where the program wants them on the host.
TEST(DeviceFailures, LargeTensorsGoByPieces) {
  auto function = [](const std::string& name, const std::string& body) {
    return "func @" + name +
           "(\"x\": i64[1572865]) -> (\"y\": i64[1572865]) frame 2, 3 {\n  i0 = const 1572865\n"
           "  i1 = const 12582920\n" +
           body + "  r1 = output 0, [i0]\n  copy [r1, r0], i1\n  return [], [r1]\n}\n";
  };
  const std::string text =
      "entry @main\nentry [1, 0] @gpu\n" + function("main", "") + function("gpu", "  r2 = arena.on 1, i1\n");
  constexpr int kBefore = 2, kPieces = 4;  // each way
  for (int n = kBefore + 1; n <= kBefore + 2 * kPieces + 1; ++n) {
    const VmOptions options = WithNull({.lose_at_submit = n});
    auto vm = VmFromText(text, options);
    ASSERT_TRUE(vm);
    const Tensor numbers = Ints(std::vector<int64_t>(1572865, 7));
    std::array inputs{*numbers.CopyTo(options.devices[0])};
    std::array outputs{*numbers.CopyTo(options.devices[0])};
    const std::string error = TextOf(vm->NewInvocation().Run(inputs, outputs));
    EXPECT_EQ(error != "", n <= kBefore + 2 * kPieces) << n << error;
    EXPECT_THAT(error, AnyOf("", HasSubstr("device_lost"))) << n;
  }
}

// A run that ended left work behind, which the next one waits for no longer than it may.
TEST(DeviceFailures, WorkThatWasLeftIsWaitedForUntilTheDeadline) {
  std::atomic<bool> is_busy{true};
  auto vm = VmFromText(Body(std::string(kThere) + "fill [r2], i3, 0\n wait 1\n copy [r1, r0], i3\n"),
                       WithNull({.is_busy = &is_busy}));
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array inputs{Ints({3, 4})};
  std::array outputs{Tensor()};
  auto soon = [] { return RunOptions{.deadline = std::chrono::steady_clock::now() + 5ms}; };
  EXPECT_THAT(TextOf(invocation.Run(inputs, outputs, soon())), HasSubstr("deadline_exceeded: @gpu:"));
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs, soon())),
            "deadline_exceeded: the deadline of the run is reached");
  invocation.SetLimits({.timeout = 5ms});
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)),
            "deadline_exceeded: the limit of 5000 microseconds is reached");
  is_busy = false;
  invocation.SetLimits({});
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(3, 4));
}

// Whatever finds the queue full, also what writes to the host.
TEST(DeviceFailures, RoomForWorkIsWaitedForUntilTheDeadline) {
  const std::string two = std::string(kThere) + "fill [r2], i3, 0\n";
  const std::string bodies[] = {
      two + "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r2]\n",
      two + "fill [r2], i2, 0\n",
      two + "copy [r2, r2+i2], i2\n",
      two + "copy [r2, r0], i3\n",
      two + "store r2, i0, i64, i0\n",
      two + "copy [r1, r2], i3\n",
      two + "i5 = load r2, i0, i64\n",
  };
  for (const std::string& body : bodies) {
    std::atomic<bool> is_busy{true};
    auto vm =
        VmFromText(Body(body + "copy [r1, r0], i3\n"), WithNull({.is_busy = &is_busy, .most_ahead = 2}));
    ASSERT_TRUE(vm);
    Invocation invocation = vm->NewInvocation();
    std::array inputs{Ints({3, 4})};
    std::array outputs{Tensor()};
    const RunOptions soon{.deadline = std::chrono::steady_clock::now() + 5ms};
    EXPECT_THAT(TextOf(invocation.Run(inputs, outputs, soon)),
                ::testing::AllOf(::testing::StartsWith("deadline_exceeded: @gpu:"),
                                 ::testing::EndsWith("(node /m (M))")))
        << body;
    is_busy = false;
    EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "") << body;
    EXPECT_THAT(ToInts(outputs[0]), ElementsAre(3, 4)) << body;
  }
}

// What is new from a driver takes long, which nothing can interrupt: here 64 bytes half an hour.
TEST(DeviceFailures, MemoryThatWouldBeLateIsNotAllocated) {
  constexpr int64_t kHour = int64_t{3600} * 1'000'000'000;
  struct Case {
    std::string body;
    const char* instruction;
    bool is_kept;  // from run to run
  };
  const std::string arena = "i5 = const 4096\n r2 = arena.on 1, i5\n copy [r2, r0], i3\n";
  for (const auto& [body, instruction, is_kept] :
       {Case{arena, "arena.on", true},
        Case{"i5 = const 512\n r2 = alloc.on 1, i64, [i5]\n", "alloc.on", false},
        Case{arena + "launch @aligned, 1, [i1, i1, i1, i0, i0, i0], [], [r2+i2, r2]\n", "launch", false}}) {
    const VmOptions options = WithNull({.new_megabyte_ns = kHour / 2 * (1 << 20) / 64});
    auto vm = VmFromText(Body(body + "copy [r1, r0], i3\n"), options);
    ASSERT_TRUE(vm);
    Invocation invocation = vm->NewInvocation();
    std::array inputs{Ints({3, 4})};
    std::array outputs{Tensor()};
    auto run = [&](std::chrono::hours time) {
      return TextOf(invocation.Run(inputs, outputs, {.deadline = std::chrono::steady_clock::now() + time}));
    };
    const auto is_refused = ::testing::AllOf(
        ::testing::StartsWith("deadline_exceeded: @gpu:"), HasSubstr(": null: no 40"),
        HasSubstr(" bytes: to get them takes about 11"), HasSubstr(" microseconds are left (node /m (M))"));
    if (std::string_view(instruction) != "launch") {
      EXPECT_THAT(run(1h), is_refused);
      EXPECT_EQ(options.devices[0]->statistics().live_bytes, 0);
    }
    EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "") << "without a deadline there is time";
    EXPECT_THAT(ToInts(outputs[0]), ElementsAre(3, 4));
    const std::string warm = run(1h);
    EXPECT_THAT(warm,
                is_kept ? ::testing::Matcher<std::string>("") : ::testing::Matcher<std::string>(is_refused));
    EXPECT_THAT(warm, HasSubstr(is_kept ? "" : std::string(" ") + instruction + ": null"));
    EXPECT_EQ(run(100h), "");
  }
}

TEST(DeviceFailures, NoMemoryIsAnError) {
  const std::string body = std::string(kThere) + "r3 = alloc.on 1, i64, [i4]\n copy [r1, r2], i3\n";
  for (int n = 1; n <= 2; ++n)
    EXPECT_THAT(ErrorOf(body, WithNull({.fail_allocation = n})), HasSubstr("out_of_memory: @gpu:")) << n;
  EXPECT_EQ(ErrorOf(body, WithNull({.fail_allocation = 3})), "");
  EXPECT_THAT(ErrorOf("i5 = const -1\n r2 = arena.on 1, i5\n"), HasSubstr("out_of_memory"));
}

}  // namespace
}  // namespace tvmvm
