// What goes on when a device was lost: it is opened anew, and whatever lay on the lost one says so.
#include <gmock/gmock.h>

#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = x by way of the GPU, where a launch reads a constant.
constexpr const char* kProgram = R"(entry @main
entry [1, 0] @gpu
kernel @k gpu symbol "k" scalars 0 buffers [read, write]
constant c0 "w": i64[2] hex "05000000000000000600000000000000"
func @main("x": i64[2]) -> ("y": i64[2]) frame 1, 2 {
  i0 = const 2
  r1 = output 0, [i0]
  return [], [r1]
}
func @gpu("x": i64[2]) -> ("y": i64[2]) frame 5, 4 {
  i0 = const 0
  i1 = const 1
  i3 = const 16
  i4 = const 2
  r1 = output 0, [i4]
  r2 = arena.on 1, i3
  r3 = arena.on 1, i3
  launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [c0, r2]
  copy [r3, r0], i3
  copy [r1, r3], i3
  return [], [r1]
}
)";

class Reopened : public ::testing::Test {
 protected:
  // Its constants are uploaded, then the first run's second piece of work loses it.
  void SetUp() override {
    device_ = CreateNullDevice({.lose_at_submit = 3});
    auto program = Assemble(kProgram);
    ASSERT_TRUE(program) << program.error().message;
    program_ = *program;
    vm_ = VmOn(device_);
    invocation_.emplace(vm_->NewInvocation());
    inputs_ = {Ints({3, 4})};
    EXPECT_THAT(Run(*invocation_), HasSubstr("device_lost"));
    auto again = device_->Reopen();
    ASSERT_TRUE(again) << again.error().message;
    again_ = *again;
  }

  std::shared_ptr<Vm> VmOn(const std::shared_ptr<Device>& device) {
    VmOptions options = TestOptions();
    options.devices = {device};
    auto vm = Vm::Create(program_, options);
    EXPECT_TRUE(vm) << vm.error().message;
    return vm ? *vm : nullptr;
  }

  std::string Run(Invocation& invocation) {
    outputs_ = {Tensor()};
    return TextOf(invocation.Run(inputs_, outputs_));
  }

  std::shared_ptr<const Program> program_;
  std::shared_ptr<Device> device_, again_;
  std::shared_ptr<Vm> vm_;
  std::optional<Invocation> invocation_;
  std::vector<Tensor> inputs_, outputs_;
};

TEST_F(Reopened, ANewVmRunsWhileTheOldOneStaysLost) {
  const std::shared_ptr<Vm> vm = VmOn(again_);
  EXPECT_EQ(again_->statistics().live_bytes, 16);  // its own constants
  Invocation invocation = vm->NewInvocation();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Run(invocation), "");
    EXPECT_THAT(ToInts(outputs_[0]), ElementsAre(3, 4));
    EXPECT_THAT(Run(*invocation_), HasSubstr("device_lost"));
  }
}

TEST_F(Reopened, TensorsOfTheLostDeviceSaySo) {
  const Tensor lost = *Tensor::AllocateOn(device_, DType::kI64, Shape({2}));
  EXPECT_EQ(lost.CopyTo(nullptr).error().code, Code::kDeviceLost);
  EXPECT_EQ(lost.CopyTo(again_).error().code, Code::kDeviceLost);
  Invocation invocation = VmOn(again_)->NewInvocation();
  inputs_ = {lost};
  EXPECT_THAT(Run(invocation), HasSubstr("device_lost"));
  inputs_ = {Ints({3, 4})};
  outputs_ = {lost};
  EXPECT_THAT(TextOf(invocation.Run(inputs_, outputs_)), HasSubstr("device_lost"));
  EXPECT_EQ(Run(invocation), "");  // the invocation itself is fine
  EXPECT_THAT(ToInts(outputs_[0]), ElementsAre(3, 4));
}

TEST_F(Reopened, TheLostDevicesMemoryComesBackWithItsUsers) {
  EXPECT_GT(device_->statistics().live_bytes, 0);  // constants, the arena
  invocation_.reset();
  vm_.reset();
  EXPECT_EQ(device_->statistics().live_bytes, 0);
}

}  // namespace
}  // namespace tvmvm
