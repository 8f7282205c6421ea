// Programs on a device with memory of its own: the null device, which keeps bytes and computes nothing.
#include <gmock/gmock.h>

#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"
#include "tvm-vm/profiler.h"

namespace tvmvm {
namespace {

using namespace std::chrono_literals;
using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

VmOptions WithNull(NullDeviceOptions options = {}) {
  VmOptions vm = TestOptions();
  vm.devices = {CreateNullDevice(options)};
  return vm;
}

// A program over x: i64[2] whose entry for GPUs writes y: i64[2]; there i0 = 0, i1 = 1, i2 = 8, i3 = 16, r0 =
// x, r1 = y; i4... and r2... are free. Its entry for the CPU gives [1, 1].
// `frame`: behind the numbers of registers.
std::string Body(std::string_view body, const std::string& frame = "") {
  const std::string signature = "(\"x\": i64[2]) -> (\"y\": i64[2]) frame 20, 10" + frame + " {\n";
  return "entry @main\nentry [1, 0] @gpu\n"
         "kernel @k gpu symbol \"k\" scalars 0 buffers [read, write] errors [\"an index is out of range\"]\n"
         "kernel @whole gpu symbol \"w\" scalars 0 buffers [read, write] aligned [8, 8]\n"
         "kernel @aligned gpu symbol \"a\" scalars 0 buffers [read_aligned, write]\n"
         "kernel @on_cpu cpu symbol \"add\" scalars 1 buffers [read, write]\n"
         "constant c0 \"w\": i64[2] hex \"05000000000000000600000000000000\"\n"
         "func @main" +
         signature +
         "  i0 = const 0\n  i1 = const 1\n  i2 = const 8\n  i3 = const 2\n  r1 = output 0, [i3]\n"
         "  store r1, i0, i64, i1\n  store r1, i2, i64, i1\n  return [], [r1]\n}\n"
         "func @gpu" +
         signature +
         "  i0 = const 0\n  i1 = const 1\n  i2 = const 8\n  i3 = const 16\n  i4 = const 2\n"
         "  r1 = output 0, [i4]\n  node \"/m (M)\"\n" +
         std::string(body) + "  return [], [r1]\n}\n";
}

std::string RunOn(const VmOptions& options, const std::string& text,
                  std::vector<int64_t>* numbers = nullptr) {
  auto vm = VmFromText(text, options);
  if (!vm) return "no vm";
  std::array inputs{Ints({3, 4})};
  std::array outputs{Tensor()};
  Status status = vm->NewInvocation().Run(inputs, outputs);
  if (status && numbers != nullptr) *numbers = ToInts(outputs[0]);
  return TextOf(status);
}

std::vector<int64_t> Numbers(std::string_view body, const VmOptions& options = WithNull()) {
  std::vector<int64_t> numbers;
  EXPECT_EQ(RunOn(options, Body(body), &numbers), "");
  return numbers;
}

std::string ErrorOf(std::string_view body, const VmOptions& options = WithNull()) {
  return RunOn(options, Body(body));
}

constexpr const char* kThere = "r2 = arena.on 1, i3\n copy [r2, r0], i3\n";

TEST(Device, TheEntryIsThatOfTheFirstDevice) {
  const char* copy = "copy [r1, r0], i3\n";
  EXPECT_THAT(Numbers(copy), ElementsAre(3, 4));
  EXPECT_THAT(Numbers(copy, TestOptions()), ElementsAre(1, 1));
  auto vm = VmFromText(Body(copy), TestOptions());
  ASSERT_TRUE(vm);
  EXPECT_EQ(vm->Devices().size(), 1u);
  EXPECT_EQ(vm->Devices()[0].name, "cpu");
}

// Whatever the device, and whatever form its code has.
TEST(Device, CodeOfTheProgramsOwnCanBeRefused) {
  auto error = [](const std::string& body, VmOptions options) {
    auto program = Assemble(Body(body));
    EXPECT_TRUE(program) << program.error().message;
    options.allow_native = false;
    auto vm = Vm::Create(*program, options);
    return vm ? "" : std::string(CodeName(vm.error().code)) + ": " + vm.error().message;
  };
  const std::string launch = "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r2]\n";
  EXPECT_EQ(error(kThere + launch, WithNull()),
            "unsupported: the program runs code of its own: 1 kernel, 'k', and native code is not "
            "allowed");
  EXPECT_THAT(error("launch @on_cpu, 0, [i1, i1, i1, i0, i0, i0], [i1], [r0, r1]\n", WithNull()),
              HasSubstr("1 kernel, 'on_cpu'"));
  EXPECT_EQ(error(std::string(kThere) + "copy [r1, r2], i3\n", WithNull()), "");
  EXPECT_EQ(error(kThere + launch, TestOptions()), "") << "a run on the CPU alone reaches no kernel";
}

TEST(Device, CopiesGoThereAndBack) {
  EXPECT_THAT(Numbers(std::string(kThere) + "copy [r1, r2], i3\n"), ElementsAre(3, 4));
  // Between places of the device, and in parts.
  EXPECT_THAT(Numbers(std::string(kThere) + R"(
  r3 = alloc.on 1, i64, [i4]
  copy [r3, r2+i2], i2
  copy [r3+i2, r2], i2
  copy [r1, r3], i3
)"),
              ElementsAre(4, 3));
  EXPECT_THAT(
      Numbers(std::string(kThere) + "copy [r1+i2, r2], i2\n i5 = add i0, i0\n copy [r1, r2+i2], i2\n"),
      ElementsAre(4, 3));
}

TEST(Device, ACopyReadsWhatTheCopyBeforeItWrote) {
  EXPECT_THAT(Numbers(std::string(kThere) + R"(
  r3 = alloc i64, [i4]
  copy [r3, r2], i3
  copy [r1, r3], i3
)"),
              ElementsAre(3, 4));
  EXPECT_THAT(Numbers(std::string(kThere) + R"(
  r3 = alloc i64, [i4]
  r4 = arena.on 1, i3
  copy [r3, r2], i3
  copy [r4, r3], i3
  copy [r1, r4], i3
)"),
              ElementsAre(3, 4));
}

// The host waits where something is read, and at the end.
TEST(Device, TheHostWaitsOnce) {
  const std::string launch = "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r2]\n";
  const std::string half = "copy [r1, r2], i2\n", rest = "copy [r1+i2, r2+i2], i2\n";
  auto waits = [](const std::string& body) {
    const VmOptions options = WithNull();
    EXPECT_THAT(Numbers(kThere + body, options), ElementsAre(3, 4));
    return options.devices[0]->statistics().waits;
  };
  EXPECT_EQ(waits(launch + launch + half + rest), 1);
  EXPECT_EQ(waits(half + "i5 = add i1, i1\n" + launch + launch + "i6 = dim r0, 0\n" + rest), 1);
  EXPECT_EQ(waits(half + launch + rest + launch),
            2);  // the results arrive with the first, the end is the second
  EXPECT_EQ(waits(half + "i5 = load r1, i0, i64\n" + rest), 2);
  EXPECT_EQ(waits(half + "r3 = alloc i64, [i4]\n" + rest), 2);
}

TEST(Device, ConstantsAreEverywhere) {
  EXPECT_THAT(Numbers("r2 = arena.on 1, i3\n copy [r2, c0], i3\n copy [r1, r2], i3\n"), ElementsAre(5, 6));
}

TEST(Device, ViewsAndElements) {
  EXPECT_THAT(Numbers(std::string(kThere) + R"(
  r3 = view r2, i2, i64, [i1]
  r4 = view r3, i0, i64, []
  i5 = load r4, i0, i64
  i6 = dim r3, 0
  store r2, i0, i64, i5
  store r2, i2, i64, i6
  copy [r1, r2], i3
)"),
              ElementsAre(4, 1));
  EXPECT_THAT(Numbers(std::string(kThere) + "fill [r2+i2], i2, 255\n wait 1\n copy [r1, r2], i3\n"),
              ElementsAre(3, -1));
}

TEST(Device, WhatAKernelReadsInVectorsIsCopiedWhereItBeginsBetweenThem) {
  auto most_bytes = [](const std::string& launch) {
    const VmOptions options = WithNull();
    EXPECT_THAT(Numbers(kThere + launch + "copy [r1, r2], i3\n", options), ElementsAre(3, 4));
    EXPECT_EQ(options.devices[0]->statistics().live_bytes, 0);
    return options.devices[0]->statistics().peak_bytes;
  };
  const std::string there = ", 1, [i1, i1, i1, i0, i0, i0], [], ";
  const int64_t whole = most_bytes("launch @aligned" + there + "[r2, r2]\n");
  EXPECT_EQ(most_bytes("launch @k" + there + "[r2+i2, r2]\n"), whole);
  EXPECT_GT(most_bytes("launch @aligned" + there + "[r2+i2, r2]\n"), whole);
}

// Runs a body with input and output in the device's memory.
std::vector<int64_t> ResidentNumbers(std::string_view body, int64_t* waits,
                                     const std::string& stay = " device [0] -> [0]") {
  const VmOptions options = WithNull();
  const std::shared_ptr<Device>& device = options.devices[0];
  auto vm = VmFromText(Body(body, stay), options);
  EXPECT_TRUE(vm);
  if (!vm) return {};
  EXPECT_EQ(vm->gpu(), device);
  std::array inputs{*Ints({3, 4}).CopyTo(device)};
  std::array outputs{*Ints({0, 0}).CopyTo(device)};
  EXPECT_EQ(outputs[0].data(), nullptr);
  EXPECT_EQ(outputs[0].device(), device);
  const int64_t before = device->statistics().waits;
  EXPECT_EQ(TextOf(vm->NewInvocation().Run(inputs, outputs)), "");
  *waits = device->statistics().waits - before;
  return ToInts(*outputs[0].CopyTo(nullptr));
}

TEST(Device, InputsAndOutputsMayStayThere) {
  int64_t waits = 0;
  EXPECT_THAT(ResidentNumbers(std::string(kThere) + "copy [r1, r2], i3\n", &waits), ElementsAre(3, 4));
  EXPECT_EQ(waits, 1) << "for the end alone";
  EXPECT_THAT(ResidentNumbers("i5 = dim r0, 0\n i6 = load r0, i2, i64\n" + std::string(kThere) +
                                  "store r2, i0, i64, i5\n copy [r1, r2], i3\n copy [r1+i2, r0], i2\n",
                              &waits),
              ElementsAre(2, 3));
}

// What the program itself reads or writes on the host goes there and back.
TEST(Device, InputsAndOutputsThatTheHostUsesAreCopied) {
  int64_t waits = 0;
  EXPECT_THAT(ResidentNumbers("r2 = arena.on 1, i3\n r3 = view r0, i2, i64, [i1]\n copy [r1, r3], i2\n"
                              "copy [r1+i2, r0], i2\n",
                              &waits, " device [] -> [0]"),
              ElementsAre(4, 3));
  EXPECT_THAT(ResidentNumbers("store r1, i0, i64, i4\n r2 = arena.on 1, i3\n copy [r2, r0], i3\n"
                              "copy [r1+i2, r2], i2\n",
                              &waits, " device [0] -> []"),
              ElementsAre(2, 3));
}

TEST(Device, TensorsGoFromDeviceToDevice) {
  std::shared_ptr<Device> one = CreateNullDevice({}), other = CreateNullDevice({});
  Tensor there = *Ints({3, 4}).CopyTo(one);
  EXPECT_THAT(ToInts(*(*there.CopyTo(one)).CopyTo(nullptr)), ElementsAre(3, 4));
  Tensor elsewhere = *there.CopyTo(other);
  EXPECT_EQ(elsewhere.device(), other);
  EXPECT_THAT(ToInts(*elsewhere.CopyTo(nullptr)), ElementsAre(3, 4));
  EXPECT_EQ(TextOf(there.CopyFrom(Ints({1, 2, 3}))),
            "invalid_argument: i64[3] given for a copy, i64[2] is wanted");
  EXPECT_THAT(Tensor::AllocateOn(one, DType::kString, Shape({1})).error().message,
              HasSubstr("strings are on the cpu"));
  // A program on another device takes it, too.
  auto vm = VmFromText(Body(std::string(kThere) + "copy [r1, r2], i3\n"), WithNull());
  std::array inputs{elsewhere};
  std::array outputs{Tensor()};
  ASSERT_EQ(TextOf(vm->NewInvocation().Run(inputs, outputs)), "");
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(3, 4));
  there = elsewhere = inputs[0] = {};
  EXPECT_EQ(one->statistics().live_bytes + other->statistics().live_bytes, 0);
}

TEST(Device, LaunchesTakeWhatIsThere) {
  const std::string launch = "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], ";
  EXPECT_EQ(ErrorOf(kThere + launch + "[c0, r2]\n copy [r1, r2], i3\n"), "");
  EXPECT_EQ(ErrorOf(kThere + launch + "[r0, r2]\n"),
            "invalid_program: @gpu:36 launch: r0 is on the cpu (node /m (M))");
  EXPECT_THAT(ErrorOf(kThere + launch + "[r2, r2+i3]\n"), "");
  EXPECT_THAT(ErrorOf(std::string(kThere) + "i5 = const 17\n" + launch + "[r2, r2+i5]\n"),
              HasSubstr("0 bytes at offset 17 of r2, which has 16 bytes (node /m (M))"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "i5 = const 17\n" + launch + "[c0+i5, r2]\n"),
              HasSubstr("0 bytes at offset 17 of constant 'w', which has 16 bytes (node /m (M))"));
  EXPECT_THAT(ErrorOf(std::string(kThere) + "launch @on_cpu, 0, [i1, i1, i1, i0, i0, i0], [i1], [r2, r1]\n"),
              HasSubstr("launch: r2 is on the gpu (node /m (M))"));
}

TEST(Device, TheCpuDoesNotTouchItsMemory) {
  EXPECT_THAT(ErrorOf(std::string(kThere) + "[], [r3] = host 1, [], [r2]\n"),
              HasSubstr("host: r2 is on the gpu (node /m (M))"));
  EXPECT_THAT(ErrorOf("r2 = alloc.on 1, i64, [i4]\n r1 = move.ref r2\n"),
              HasSubstr("output 0 'y': the program gave a tensor that is on the gpu"));
  EXPECT_THAT(ErrorOf("r2 = alloc.on 1, string, [i4]\n"), HasSubstr("strings are on the cpu"));
}

TEST(Device, PlacesOutsideOfMemoryAreErrors) {
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
TEST(Device, NothingIsWrittenToTheHostAfterAWaitThatFailed) {
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
TEST(Device, AnElementIsNotWrittenAfterAWaitThatFailed) {
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

TEST(Device, AFailedKernelIsNamedWhereTheHostWaits) {
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

TEST(Device, ALostDeviceEndsTheRunAtAnyPoint) {
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
TEST(Device, LargeCopiesGoByPieces) {
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
TEST(Device, LargeTensorsGoByPieces) {
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
TEST(Device, WorkThatWasLeftIsWaitedForUntilTheDeadline) {
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
TEST(Device, RoomForWorkIsWaitedForUntilTheDeadline) {
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
TEST(Device, MemoryThatWouldBeLateIsNotAllocated) {
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

TEST(Device, NoMemoryIsAnError) {
  const std::string body = std::string(kThere) + "r3 = alloc.on 1, i64, [i4]\n copy [r1, r2], i3\n";
  for (int n = 1; n <= 2; ++n)
    EXPECT_THAT(ErrorOf(body, WithNull({.fail_allocation = n})), HasSubstr("out_of_memory: @gpu:")) << n;
  EXPECT_EQ(ErrorOf(body, WithNull({.fail_allocation = 3})), "");
  EXPECT_THAT(ErrorOf("i5 = const -1\n r2 = arena.on 1, i5\n"), HasSubstr("out_of_memory"));
}

TEST(Device, TheBudgetCountsItsMemory) {
  auto vm = VmFromText(Body(std::string(kThere) + "copy [r1, r2], i3\n"), WithNull());
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array inputs{Ints({3, 4})};
  std::array outputs{Tensor()};
  invocation.SetLimits({.max_bytes = 15});
  EXPECT_THAT(TextOf(invocation.Run(inputs, outputs)), HasSubstr("out_of_memory"));
  invocation.SetLimits({});
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_EQ(invocation.peak_bytes(), 32);  // the output, and the arena
}

TEST(Device, VmsShareConstantsAndGiveThemBack) {
  auto program =
      Assemble(Body("r2 = arena.on 1, i3\n launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [c0, r2]\n"));
  ASSERT_TRUE(program) << program.error().message;
  VmOptions options = WithNull();
  const std::shared_ptr<Device>& device = options.devices[0];
  auto first = Vm::Create(*program, options);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(device->statistics().live_bytes, 16);
  auto second = Vm::Create(*program, options);
  ASSERT_TRUE(second);
  EXPECT_EQ(device->statistics().live_bytes, 16);
  first->reset();
  EXPECT_EQ(device->statistics().live_bytes, 16);
  second->reset();
  EXPECT_EQ(device->statistics().live_bytes, 0);
}

TEST(Device, WhatAProgramNeedsMustBeThere) {
  auto program = Assemble(
      "entry @main\nfunc @main() -> () frame 1, 1 {\n  i0 = const 8\n  r0 = arena.on 1, i0\n"
      "  return [], []\n}\n");
  ASSERT_TRUE(program) << program.error().message;
  auto vm = Vm::Create(*program, TestOptions());
  ASSERT_FALSE(vm);
  EXPECT_EQ(vm.error().code, Code::kUnsupported);
  EXPECT_EQ(vm.error().message, "the program runs on a device of class gpu; the devices given are cpu");
  auto with = Vm::Create(*program, WithNull());
  ASSERT_TRUE(with) << with.error().message;
  ASSERT_EQ((*with)->Devices().size(), 2u);
  EXPECT_EQ((*with)->Devices()[1].name, "null");
}

TEST(Device, AProfileSaysWhereKernelsRun) {
  auto vm = VmFromText(Body(std::string(kThere) +
                            "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r2]\n copy [r1, r2], i3\n"),
                       WithNull());
  ASSERT_TRUE(vm);
  auto program = std::shared_ptr<const Program>(vm, &vm->program());
  for (const bool knows : {false, true}) {
    Profiler profiler(program, true, knows ? vm->Devices() : std::vector<DeviceUse>());
    Invocation invocation = vm->NewInvocation();
    invocation.SetLaunchObserver(profiler.observer());
    std::array inputs{Ints({3, 4})};
    std::array outputs{Tensor()};
    ASSERT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
    EXPECT_THAT(profiler.Table(), HasSubstr(knows ? "  null       k\n" : "  gpu        k\n"));
    EXPECT_THAT(profiler.ChromeTrace(), HasSubstr(knows ? "\"device\": \"null\"" : "\"device\": \"gpu\""));
    EXPECT_THAT(profiler.ChromeTrace(), HasSubstr("\"tid\": 2"));
  }
}

TEST(Device, AProfileShowsCopies) {
  auto vm = VmFromText(
      Body(std::string(kThere) + "copy [r2, r2+i2], i2\n i5 = load r2, i0, i64\n store r2, i0, i64, i5\n"
                                 "copy [r1, r2], i2\n copy [r1+i2, r2], i2\n copy [r2, c0], i3\n"),
      WithNull());
  ASSERT_TRUE(vm);
  Profiler profiler(std::shared_ptr<const Program>(vm, &vm->program()), true, vm->Devices());
  Invocation invocation = vm->NewInvocation();
  invocation.SetCopyObserver(profiler.copy_observer());
  std::array inputs{Ints({3, 4})};
  std::array outputs{Tensor()};
  ASSERT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(4, 4));
  int64_t copies[2][2] = {}, bytes[2][2] = {};
  for (const CopyProfile& row : profiler.Copies()) {
    EXPECT_GE(row.nanoseconds, 0);
    copies[static_cast<int>(row.from)][static_cast<int>(row.to)] = row.copies;
    bytes[static_cast<int>(row.from)][static_cast<int>(row.to)] = row.bytes;
  }
  EXPECT_EQ(copies[0][1], 3);  // the input, an element, the constant
  EXPECT_EQ(bytes[0][1], 40);
  EXPECT_EQ(copies[1][0], 3);  // an element, two halves
  EXPECT_EQ(bytes[1][0], 24);
  EXPECT_EQ(copies[1][1], 1);  // a half
  EXPECT_EQ(bytes[1][1], 8);
  EXPECT_THAT(profiler.Table(), HasSubstr("  null       copy from cpu\n"));
  EXPECT_THAT(profiler.Table(), HasSubstr("  cpu        copy from null\n"));
  EXPECT_THAT(profiler.ChromeTrace(), HasSubstr("\"cat\": \"copy\""));
  EXPECT_THAT(profiler.ChromeTrace(), HasSubstr("\"bytes\": 16"));
  profiler.Clear();
  invocation.SetCopyObserver({});
  ASSERT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_TRUE(profiler.Copies().empty());
}

// Run after run uses the same memory.
TEST(Device, AWarmRunAllocatesNothing) {
  VmOptions options = WithNull();
  auto vm = VmFromText(Body(std::string(kThere) + "copy [r1, r2], i3\n"), options);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array inputs{Ints({3, 4})};
  std::array outputs{Ints({0, 0})};
  ASSERT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  const int64_t live = options.devices[0]->statistics().live_bytes;
  EXPECT_GT(live, 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_EQ(options.devices[0]->statistics().live_bytes, live);
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(3, 4));
}

}  // namespace
}  // namespace tvmvm
