// Which values of plans a caller's tensors on the GPU stand in for, and what is copied then.
#include "vm/binding/stand_ins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT

using ::testing::ElementsAre;

// r0 = x, r1 = y, both i64[2]; a plan for values at i3, i4 and i5 of r2, which is on the GPU, each of i1 = 16
// bytes; i0 = 0, i6 = 1, i7 = 8.
std::string Body(const std::string& body) {
  const std::string signature = "(\"x\": i64[2]) -> (\"y\": i64[2]) frame 12, 6 {\n";
  return "entry @main gpu @gpu\n"
         "kernel @k gpu symbol \"k\" scalars 0 buffers [read, write]\n"
         "plan p0 [0..2 align 64, 0..2 align 64, 0..2 align 64]\n"
         "func @main" +
         signature +
         "  i0 = const 2\n  r1 = output 0, [i0]\n  copy [r1, r0], i0\n  return [], [r1]\n}\n"
         "func @gpu" +
         signature +
         "  i0 = const 0\n  i1 = const 16\n  i6 = const 1\n  i7 = const 8\n"
         "  i2, [i3, i4, i5] = plan p0, [i1, i1, i1]\n  r2 = arena.on 1, i2\n  i8 = const 2\n" +
         body + "  return [], [r1]\n}\n";
}

constexpr const char* kIn = "copy [r2+i3, r0], i1\n";
constexpr const char* kOut = "r1 = output 0, [i8]\n copy [r1, r2+i4], i1\n";
constexpr const char* kLaunch = "launch @k, 1, [i6, i6, i6, i0, i0, i0], [], [r2+i3, r2+i4]\n";

// Of the values at i3, i4 and i5: 1 for the input, 2 for the output.
std::vector<uint32_t> StandIns(const std::string& body) {
  auto program = Assemble(Body(body));
  EXPECT_TRUE(program) << program.error().message;
  if (!program) return {};
  const FunctionSpec& function = (*program)->functions[1];
  const std::vector<uint32_t> all =
      StandInsOf(**program, function, ResidencyOf(function), ExtentsOf(function));
  return {all[3], all[4], all[5]};
}

TEST(StandIns, WhatIsOnlyCopiedInOrOut) {
  EXPECT_THAT(StandIns(std::string(kIn) + kLaunch + kOut), ElementsAre(1, 2, 0));
  EXPECT_THAT(StandIns(std::string(kIn) + "copy [r2+i4, r2+i3], i1\n" + kOut), ElementsAre(1, 0, 0));
}

TEST(StandIns, WhatIsWrittenElsewhereIsAValueOfItsOwn) {
  const std::string back = "launch @k, 1, [i6, i6, i6, i0, i0, i0], [], [r2+i4, r2+i3]\n";
  EXPECT_THAT(StandIns(std::string(kIn) + kLaunch + back + kOut), ElementsAre(0, 2, 0));
  EXPECT_THAT(StandIns(std::string(kIn) + "fill [r2+i3], i1, 0\n" + kLaunch + kOut), ElementsAre(0, 2, 0));
  EXPECT_THAT(StandIns(std::string(kIn) + "copy [r2+i3, r2+i5], i7\n" + kLaunch + kOut),
              ElementsAre(0, 2, 0));
  EXPECT_THAT(StandIns("copy [r2+i3, r0], i7\n" + std::string(kLaunch) + kOut), ElementsAre(0, 2, 0))
      << "half";
  EXPECT_THAT(StandIns(std::string(kIn) + "r3 = view r2, i3, i64, [i8]\n" + kLaunch + kOut),
              ElementsAre(0, 2, 0));
}

TEST(StandIns, OutputsAreHandedOutLast) {
  EXPECT_THAT(StandIns(std::string(kIn) + kLaunch + kOut + kLaunch), ElementsAre(1, 0, 0));
  EXPECT_THAT(StandIns(std::string(kIn) + kLaunch + "i9 = add i4, i0\n" + kOut), ElementsAre(1, 0, 0));
  EXPECT_THAT(StandIns(std::string(kIn) + kLaunch + kOut + "copy [r1, r2+i4], i1\n"), ElementsAre(1, 0, 0));
}

VmOptions WithNull() {
  VmOptions options = TestOptions();
  options.devices = {CreateNullDevice({})};
  return options;
}

// The numbers of y, and how often something was copied.
std::vector<int64_t> Numbers(const std::string& body, bool same_memory, int* copies) {
  const VmOptions options = WithNull();
  const std::shared_ptr<Device>& device = options.devices[0];
  auto vm = VmFromText(Body(body), options);
  EXPECT_TRUE(vm);
  if (!vm) return {};
  std::array inputs{*Ints({3, 4}).CopyTo(device)};
  std::array outputs{same_memory ? inputs[0] : *Ints({0, 0}).CopyTo(device)};
  Invocation invocation = vm->NewInvocation();
  *copies = 0;
  invocation.SetCopyObserver([&](const CopyRecord&) { ++*copies; });
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  return ToInts(*outputs[0].CopyTo(nullptr));
}

TEST(StandIns, NothingIsCopied) {
  int copies = 0;
  EXPECT_THAT(Numbers(std::string(kIn) + kLaunch + kOut, false, &copies), ElementsAre(0, 0))
      << "computes nothing";
  EXPECT_EQ(copies, 0);
  // What lies where the value is comes from the input.
  EXPECT_THAT(Numbers(std::string(kIn) + "copy [r2+i4, r2+i3], i1\n" + kOut, false, &copies),
              ElementsAre(3, 4));
  EXPECT_EQ(copies, 2);
}

// A kernel would write what it still reads.
TEST(StandIns, AnOutputInTheInputsMemoryIsCopied) {
  int copies = 0;
  Numbers(std::string(kIn) + kLaunch + kOut, true, &copies);
  EXPECT_EQ(copies, 1);
}

}  // namespace
}  // namespace tvmvm
