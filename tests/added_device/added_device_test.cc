// Adding a device takes a folder and a few rows: this program is the runtime with one more (add.cmake), and
// shows that it is listed, opened, named in programs and texts, and runs programs. Where this needs another
// line, docs/adding_a_device.md is no longer true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bytecode/verifier.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = a kernel of x, on the GPU.
constexpr const char* kProgram = R"(entry @main
entry [1, 0] @gpu
kernel @k gpu symbol "k" scalars 0 buffers [read, write]
func @main("x": i64[2]) -> ("y": i64[2]) frame 1, 2 {
  i0 = const 2
  r1 = output 0, [i0]
  return [], [r1]
}
func @gpu("x": i64[2]) -> ("y": i64[2]) frame 5, 4 {
  i0 = const 0
  i1 = const 1
  i2 = const 16
  i3 = const 2
  r1 = output 0, [i3]
  r2 = arena.on 1, i2
  r3 = arena.on 1, i2
  copy [r2, r0], i2
  launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r3]
  copy [r1, r3], i2
  return [], [r1]
}
)";

TEST(AddedDevice, IsListedAndOpened) {
  bool is_listed = false;
  for (const ListedDevice& listed : ListDevices().devices) is_listed = is_listed || listed.name == "echo";
  EXPECT_TRUE(is_listed);
  auto device = OpenDevice("echo", {});
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->name(), "echo");
  EXPECT_THAT(OpenDevice("cuda", {}).error().message, HasSubstr("echo"));
}

TEST(AddedDevice, RunsPrograms) {
  auto program = Assemble(kProgram);
  ASSERT_TRUE(program) << program.error().message;
  VmOptions options;
  options.devices = {*OpenDevice("echo", {})};
  auto vm = Vm::Create(*program, options);
  ASSERT_TRUE(vm) << vm.error().message;
  int64_t x[] = {3, 4};
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kI64, Shape({2}), x)}, outputs(1);
  const Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  const auto* y = static_cast<const int64_t*>(outputs[0].data());
  EXPECT_THAT(std::vector<int64_t>(y, y + 2), ElementsAre(3, 4));
}

TEST(AddedDevice, LibrariesOfItsFormAreVerifiedAndNamed) {
  auto program = Assemble(kProgram);
  ASSERT_TRUE(program) << program.error().message;
  auto with_library = std::make_shared<Program>(**program);
  with_library->libraries.push_back({DeviceKind::kEcho, KernelForm::kEchoText, "generic", {}});
  EXPECT_TRUE(VerifyProgram(*with_library));
  EXPECT_THAT(Disassemble(*with_library), HasSubstr("library echo echo_text \"generic\""));
}

}  // namespace
}  // namespace tvmvm
