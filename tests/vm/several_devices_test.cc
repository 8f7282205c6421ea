// Programs on two devices with memory of their own, which may be of different kinds.
#include <gmock/gmock.h>

#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"
#include "tvm-vm/cpu_device.h"
#include "tvm-vm/warm.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A program over x: i64[2] whose entry for two GPUs writes y: i64[2]; there i0 = 0, i1 = 1, i2 = 8, i3 = 16,
// r0 = x, r1 = y; i5... and r2... are free. Its entry for one gives [1, 1], that for the CPU [0, 0].
std::string Body(std::string_view body, const std::string& two = "1, 2, 0") {
  const std::string head =
      "(\"x\": i64[2]) -> (\"y\": i64[2]) frame 20, 10, 4 {\n"
      "  i0 = const 0\n  i1 = const 1\n  i2 = const 8\n  i3 = const 16\n  i4 = const 2\n  r1 = output 0, "
      "[i4]\n";
  const auto both = [](const std::string& value) {
    return "  store r1, i0, i64, " + value + "\n  store r1, i2, i64, " + value + "\n  return [], [r1]\n}\n";
  };
  return "devices [cpu 0, gpu 0, gpu 1]\nentry @main\nentry [1, 0] @gpu\nentry [" + two +
         "] @gpus\n"
         "kernel @k gpu symbol \"k\" scalars 0 buffers [read, write]\n"
         "constant c0 \"w\": i64[2] hex \"05000000000000000600000000000000\"\n"
         "plan p0 [0..1 align 64]\n"
         "func @main" +
         head + both("i0") + "func @gpu" + head + both("i1") + "func @gpus" + head + std::string(body) +
         "  return [], [r1]\n}\n";
}

VmOptions WithNulls(int count) {
  VmOptions vm = TestOptions();
  for (int i = 0; i < count; ++i) vm.devices.push_back(CreateNullDevice({}));
  return vm;
}

std::string RunOn(const VmOptions& options, const std::string& text,
                  std::vector<int64_t>* numbers = nullptr) {
  auto program = Assemble(text);
  if (!program) return program.error().message;
  auto vm = Vm::Create(*program, options);
  if (!vm) return vm.error().message;
  std::array inputs{Ints({3, 4})};
  std::array outputs{Tensor()};
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  if (status && numbers != nullptr) *numbers = ToInts(outputs[0]);
  return TextOf(status);
}

std::vector<int64_t> Numbers(std::string_view body, const VmOptions& options = WithNulls(2)) {
  std::vector<int64_t> numbers;
  EXPECT_EQ(RunOn(options, Body(body), &numbers), "");
  return numbers;
}

constexpr const char* kAcross =
    "r2 = arena.on 1, i3\n copy [r2, r0], i3\n r3 = arena.on 2, i3\n copy [r3, r2], i3\n copy [r1, r3], i3\n";

TEST(SeveralDevices, TheEntryThatUsesMostOfThoseInFrontOfTheCpuRuns) {
  EXPECT_THAT(Numbers(kAcross, TestOptions()), ElementsAre(0, 0));
  EXPECT_THAT(Numbers(kAcross, WithNulls(1)), ElementsAre(1, 1));
  EXPECT_THAT(Numbers(kAcross, WithNulls(2)), ElementsAre(3, 4));
  EXPECT_THAT(Numbers(kAcross, WithNulls(3)), ElementsAre(3, 4));
  VmOptions between = WithNulls(1);
  between.devices.push_back(CreateCpuDevice({}));
  between.devices.push_back(CreateNullDevice({}));
  EXPECT_THAT(Numbers(kAcross, between), ElementsAre(1, 1));
  std::swap(between.devices[0], between.devices[1]);
  EXPECT_THAT(Numbers(kAcross, between), ElementsAre(0, 0));
}

TEST(SeveralDevices, CopiesGoAcrossInBothDirections) {
  EXPECT_THAT(Numbers("r2 = arena.on 2, i3\n copy [r2, c0], i3\n r3 = arena.on 1, i3\n copy [r3, r2], i3\n"
                      " copy [r1, r3], i3\n"),
              ElementsAre(5, 6));
  EXPECT_THAT(Numbers("r2 = arena.on 1, i3\n copy [r2, r0], i3\n r3 = arena.on 2, i3\n fill [r3], i3, 0\n"
                      " copy [r3+i2, r2], i2\n copy [r1, r3], i3\n"),
              ElementsAre(0, 3));
}

TEST(SeveralDevices, SlotsAndTensorsLieWhereTheyAreMade) {
  EXPECT_THAT(Numbers("r2, s0 = slots p0, 1, [i3]\n r3, s1 = slots p0, 2, [i3]\n copy [s0, r0], i3\n"
                      " copy [s1, s0], i3\n r4 = slot.view s1, i0, i64, [i4]\n i5 = load r4, i2, i64\n"
                      " store r1, i0, i64, i5\n slot.store s1, i0, i64, i2\n copy [r1+i2, s1], i2\n"),
              ElementsAre(4, 8));
}

TEST(SeveralDevices, KernelsAndConstantsAreLoadedWhereTheyAreUsed) {
  const std::string launch =
      "r2 = arena.on 1, i3\n r3 = arena.on 2, i3\n"
      " launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r2]\n"
      " launch @k, 2, [i1, i1, i1, i0, i0, i0], [], [c0, r3]\n copy [r1, r0], i3\n";
  auto vm = VmFromText(Body(launch), WithNulls(2));
  ASSERT_TRUE(vm);
  const std::vector<DeviceUse> uses = vm->Devices();
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[1].kernels, 1u);
  EXPECT_EQ(uses[2].kernels, 1u);
  EXPECT_EQ(GpuKernelCount(vm->program()), 1u);
  EXPECT_THAT(Numbers(launch), ElementsAre(3, 4));
}

TEST(SeveralDevices, MemoryOfAnotherDeviceIsRefused) {
  const std::string there = "r2 = arena.on 1, i3\n r3 = arena.on 2, i3\n";
  EXPECT_THAT(RunOn(WithNulls(2), Body(there + "launch @k, 2, [i1, i1, i1, i0, i0, i0], [], [r2, r3]\n")),
              HasSubstr("r2 is on the gpu"));
  EXPECT_THAT(RunOn(WithNulls(2), Body(there + "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r3]\n")),
              HasSubstr("r3 is on the gpu:1"));
  EXPECT_THAT(RunOn(WithNulls(2), Body("launch @k, 3, [i1, i1, i1, i0, i0, i0], [], [r0, r1]\n")),
              HasSubstr("queue 3 is of no device, the last one is 2"));
}

TEST(SeveralDevices, TooFewAreToldOf) {
  EXPECT_THAT(RunOn(WithNulls(1), Body(kAcross, "1, 0")), "");
  VmOptions options = TestOptions();
  EXPECT_THAT(RunOn(options,
                    "devices [cpu 0, gpu 0, gpu 1]\nentry @main\nfunc @main() -> () frame 1, 1 {\n"
                    "  i0 = const 8\n  r0 = arena.on 2, i0\n  return [], []\n}\n"),
              HasSubstr("the program runs on 2 devices of class gpu; the devices given are cpu"));
}

// Inputs and outputs on one of the devices are used there, and copied to the other.
TEST(SeveralDevices, CallersTensorsOnEitherDevice) {
  const std::string text =
      "devices [cpu 0, gpu 0, gpu 1]\nentry @main\nentry [1, 2, 0] @main\nplan p0 [0..1 align 64]\n"
      "func @main(\"x\": i64[2]) -> (\"y\": i64[2]) frame 20, 10, 4 device [0] -> [0] {\n"
      "  i0 = const 16\n  i1 = const 2\n  r2, s0 = slots p0, 1, [i0]\n  r3, s1 = slots p0, 2, [i0]\n"
      "  slot.input s0, 0\n  slot.output s1, 0\n  copy [s0, r0], i0\n  copy [s1, s0], i0\n"
      "  r1 = output 0, [i1]\n  copy [r1, s1], i0\n  return [], [r1]\n}\n";
  const VmOptions options = WithNulls(2);
  auto vm = VmFromText(text, options);
  ASSERT_TRUE(vm);
  for (int input : {-1, 0, 1})
    for (int output : {-1, 0, 1}) {
      Tensor x = Ints({3, 4}), y;
      if (input >= 0) {
        Tensor there =
            *Tensor::AllocateOn(options.devices[static_cast<size_t>(input)], DType::kI64, Shape{2});
        ASSERT_TRUE(there.CopyFrom(x));
        x = there;
      }
      if (output >= 0)
        y = *Tensor::AllocateOn(options.devices[static_cast<size_t>(output)], DType::kI64, Shape{2});
      std::array inputs{x};
      std::array outputs{y};
      EXPECT_EQ(TextOf(vm->NewInvocation().Run(inputs, outputs)), "") << input << " " << output;
      Tensor result = Ints({0, 0});
      ASSERT_TRUE(result.CopyFrom(outputs[0]));
      EXPECT_THAT(ToInts(result), ElementsAre(3, 4)) << input << " " << output;
    }
}

TEST(SeveralDevices, ObserversSeeCopiesAcross) {
  auto vm = VmFromText(Body(kAcross), WithNulls(2));
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::vector<std::pair<uint32_t, uint32_t>> seen;
  invocation.SetCopyObserver([&](const CopyRecord& record) { seen.push_back({record.from, record.to}); });
  std::array inputs{Ints({3, 4})};
  std::array outputs{Tensor()};
  ASSERT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_THAT(seen, ElementsAre(std::pair(0u, 1u), std::pair(1u, 2u), std::pair(2u, 0u)));
}

}  // namespace
}  // namespace tvmvm
