// Programs on a device with memory of its own: the null device, which keeps bytes and computes nothing.
#include <gmock/gmock.h>

#include "tests/vm/device_program.h"
#include "tvm-vm/profiler.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
