// Slots: places of a plan's values, their parts and halves, and callers' tensors that stand in for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// r0 = x, r1 = y, both i64[2]; i0 = 0, i1 = 1, i2 = 2, i8 = 8, i9 = 16. Slots s0 and s1 of r2 are of 16
// bytes.
std::string Body(const std::string& body, int queue = 0) {
  const std::string signature = "(\"x\": i64[2]) -> (\"y\": i64[2]) frame 12, 6, 6 device [0] -> [0] {\n";
  const std::string numbers =
      "  i0 = const 0\n  i1 = const 1\n  i2 = const 2\n  i8 = const 8\n  i9 = const 16\n  r1 = output 0, "
      "[i2]\n";
  const std::string code = signature + numbers + "  r2, s0 = slots p0, " + std::to_string(queue) +
                           ", [i9, i9]\n" + body + "  return [], [r1]\n}\n";
  return "entry @main\nentry [1, 0] @gpu\n"
         "kernel @k gpu symbol \"k\" scalars 0 buffers [read, write]\n"
         "plan p0 [0..2 align 64, 0..2 align 64]\n"
         "plan p1 [0..2 align 64, 2..3 align 64, 3..4 align 64]\n"
         "plan p2 [0..2 align 64, 0..2 align 64, 0..2 align 64]\n"
         "func @main" +
         (queue == 0 ? code : signature + numbers + "  copy [r1, r0], i9\n  return [], [r1]\n}\n") +
         "func @gpu" + code;
}

std::vector<int64_t> Numbers(const std::string& body) { return RunInts(Body(body), {Ints({3, 4})}); }
std::string ErrorOf(const std::string& body) { return RunError(Body(body), {Ints({3, 4})}); }

TEST(Slots, AreMemory) {
  EXPECT_THAT(Numbers("copy [s0, r0], i9\n fill [s1], i9, 0\n copy [s1+i8, s0], i8\n copy [r1, s1], i9\n"),
              ElementsAre(0, 3));
  EXPECT_THAT(
      Numbers("i3 = load r0, i8, i64\n slot.store s0, i0, i64, i3\n slot.store s0, i8, i64, i1\n"
              "i4 = slot.load s0, i0, i64\n r3 = slot.view s0, i8, i64, [i1]\n"
              "i5 = load r3, i0, i64\n i6 = add i4, i5\n store r1, i0, i64, i4\n store r1, i8, i64, i6\n"),
      ElementsAre(4, 5));
}

TEST(Slots, HavePartsAndChangePlaces) {
  EXPECT_THAT(
      Numbers("copy [s0, r0], i9\n s2 = slot.part s0, i8, i8\n copy [s2, s0], i8\n copy [r1, s0], i9\n"),
      ElementsAre(3, 3));
  EXPECT_THAT(Numbers("copy [s0, r0], i9\n fill [s1], i9, 0\n slot.swap s0, s1\n copy [r1, s0], i9\n"
                      "copy [r1+i8, s1], i8\n"),
              ElementsAre(0, 3));
}

TEST(Slots, EndWhereTheyEnd) {
  EXPECT_THAT(ErrorOf("copy [s0+i8, r0], i9\n"),
              HasSubstr("16 bytes at offset 8 of slot s0, which has 16 bytes"));
  EXPECT_THAT(ErrorOf("s2 = slot.part s0, i8, i9\n"), HasSubstr("16 bytes at offset 8 of slot s0"));
  EXPECT_THAT(ErrorOf("i3 = const -1\n s2 = slot.part s0, i3, i0\n"),
              HasSubstr("0 bytes at offset -1 of slot s0"));
  EXPECT_THAT(ErrorOf("s2 = slot.part s0, i8, i8\n i3 = slot.load s2, i8, i64\n"),
              HasSubstr("8 bytes at offset 8 of slot s2, which has 8 bytes"));
  EXPECT_THAT(ErrorOf("r3 = slot.view s0, i8, i64, [i2]\n"), HasSubstr("16 bytes at offset 8 of slot s0"));
  EXPECT_THAT(ErrorOf("i3 = const -16\n r2, s0 = slots p0, 0, [i9, i3]\n"),
              HasSubstr("value 1 has -16 bytes"));
}

// r2 has s0 at byte 0 and s1 at 64.
TEST(Slots, LieAmongOthers) {
  const std::string fill = "copy [s0, r0], i9\n copy [s1, r0], i9\n";
  const std::string show = "fill [s2], i9, 0\n copy [r1, s0], i8\n copy [r1+i8, s1], i8\n";
  EXPECT_THAT(Numbers(fill + "r3, s2 = slots.among p1, 0, [i9, i9], [r2, s0]\n" + show), ElementsAre(3, 0))
      << "s1 is not kept";
  EXPECT_THAT(Numbers(fill + "r3, s2 = slots.among p2, 0, [i9], [r2, s0, s1]\n" + show), ElementsAre(3, 3))
      << "both are kept";
  // The second arena is the new one of an earlier instruction, and its gap is smaller.
  EXPECT_THAT(Numbers(fill + "i3 = const 40\n r3, s2 = slots.among p1, 0, [i3, i0], [r2, s0]\n"
                             "r4, s4 = slots.among p1, 0, [i9, i9], [r2, r3, s0]\n fill [s4], i9, 0\n"
                             "copy [r1, s1], i8\n copy [r1+i8, s2], i8\n"),
              ElementsAre(3, 0));
}

TEST(Slots, LieAmongMemoryOfTheirQueue) {
  EXPECT_THAT(ErrorOf("r3, s2 = slots.among p0, 0, [i9, i9], [r1]\n"),
              HasSubstr("slots.among: r1 holds no memory of queue 0"));
  EXPECT_THAT(ErrorOf("r2 = release\n r3, s2 = slots.among p0, 0, [i9, i9], [r2]\n"),
              HasSubstr("slots.among: r2 holds no memory of queue 0"));
  EXPECT_THAT(ErrorOf("i3 = const -16\n r3, s2 = slots.among p0, 0, [i9, i3], [r2]\n"),
              HasSubstr("value 1 has -16 bytes"));
}

// What the register of their memory holds decides, whenever they are used.
TEST(Slots, LiveAsLongAsTheirMemory) {
  EXPECT_THAT(ErrorOf("r2 = release\n copy [s0, r0], i9\n"),
              HasSubstr("slot s0 lies in r2, which holds no memory"));
  EXPECT_THAT(ErrorOf("r2 = alloc i64, [i2]\n copy [s0, r0], i9\n"), HasSubstr("which holds no memory"));
  EXPECT_THAT(ErrorOf("r2 = arena i9\n copy [s1, r0], i9\n"),
              HasSubstr("slot s1 ends at byte 80 of r2, which has 16"));
  EXPECT_THAT(Numbers("r2, s2 = slots p0, 0, [i9, i9]\n copy [s1, r0], i9\n copy [r1, s3], i9\n"),
              ElementsAre(3, 4));
}

// The numbers of y, and how often something was copied, with x and y in the device's memory.
std::vector<int64_t> OnDevice(const std::string& body, bool same_memory, int* copies) {
  VmOptions options = TestOptions();
  options.devices = {CreateNullDevice({})};
  const std::shared_ptr<Device>& device = options.devices[0];
  auto vm = VmFromText(Body(body, 1), options);
  if (!vm) return {};
  std::array inputs{*Ints({3, 4}).CopyTo(device)};
  std::array outputs{same_memory ? inputs[0] : *Ints({0, 0}).CopyTo(device)};
  Invocation invocation = vm->NewInvocation();
  *copies = 0;
  invocation.SetCopyObserver([&](const CopyRecord&) { ++*copies; });
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  return ToInts(*outputs[0].CopyTo(nullptr));
}

constexpr const char* kIn = "slot.input s0, 0\n slot.output s1, 0\n copy [s0, r0], i9\n";
constexpr const char* kLaunch = "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [s0, s1]\n";
constexpr const char* kOut = "copy [r1, s1], i9\n";

TEST(Slots, StandForTensorsOfTheCaller) {
  int copies = 0;
  EXPECT_THAT(OnDevice(std::string(kIn) + kLaunch + kOut, false, &copies), ElementsAre(0, 0))
      << "computes nothing";
  EXPECT_EQ(copies, 0);
  EXPECT_THAT(OnDevice(std::string(kIn) + "copy [s1, s0], i9\n" + kOut, false, &copies), ElementsAre(3, 4));
  EXPECT_EQ(copies, 1);
  EXPECT_THAT(
      OnDevice(std::string(kIn) + "s2 = slot.part s0, i8, i8\n fill [s1], i9, 0\n copy [s1, s2], i8\n" + kOut,
               false, &copies),
      ElementsAre(4, 0));
  EXPECT_THAT(OnDevice(std::string(kIn) +
                           "r3 = slot.view s0, i8, i64, [i1]\n fill [s1], i9, 0\n copy [s1, r3], i8\n" + kOut,
                       false, &copies),
              ElementsAre(4, 0));
}

// A kernel would write what it still reads.
TEST(Slots, AnOutputInTheInputsMemoryIsCopied) {
  int copies = 0;
  OnDevice(std::string(kIn) + kLaunch + kOut, true, &copies);
  EXPECT_EQ(copies, 1);
}

TEST(Slots, ATensorOfTheCallersStaysWhatItIs) {
  VmOptions options = TestOptions();
  options.devices = {CreateNullDevice({})};
  for (const char* write : {"fill [s0], i9, 0\n", "launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [s1, s0]\n",
                            "copy [s0, s1], i9\n", "slot.store s0, i0, i64, i1\n"}) {
    auto vm = VmFromText(Body(std::string(kIn) + write, 1), options);
    ASSERT_TRUE(vm);
    std::array inputs{*Ints({3, 4}).CopyTo(options.devices[0])};
    std::array outputs{*Ints({0, 0}).CopyTo(options.devices[0])};
    EXPECT_THAT(TextOf(vm->NewInvocation().Run(inputs, outputs)),
                HasSubstr("writes to an input or a constant"))
        << write;
  }
}

}  // namespace
}  // namespace tvmvm
