#include "tvm-vm/warm.h"

#include <gmock/gmock.h>

#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"
#include "tvm-vm/cpu_device.h"

namespace tvmvm {
namespace {

using ::testing::ElementsAre;

constexpr const char* kProgram = R"---(
entry @main
entry [1, 0] @gpu
kernel @used gpu symbol "a" scalars 0 buffers [read]
kernel @of_the_cpu cpu symbol "b" scalars 0 buffers [read]
kernel @called gpu symbol "c" scalars 0 buffers [read]
kernel @unused gpu symbol "d" scalars 0 buffers [read]
func @main("x": i64[1]) -> () frame 1, 1 {
  return [], []
}
func @gpu("x": i64[1]) -> () frame 1, 2 {
  i0 = const 1
  r1 = arena.on 1, i0
  launch @used, 1, [i0, i0, i0, i0, i0, i0], [], [r1]
  [], [] = call @inner, [], [r1]
  return [], []
}
func @inner("x": i64[1]) -> () frame 1, 1 {
  i0 = const 1
  launch @called, 1, [i0, i0, i0, i0, i0, i0], [], [r0]
  return [], []
}
)---";

// A GPU that notes which kernels it is asked for.
class NotingDevice final : public Device {
 public:
  const std::string& name() const override { return null_->name(); }
  const TargetInfo& target() const override { return null_->target(); }
  const DeviceDescription& description() const override { return null_->description(); }
  Expected<DeviceMemory> Allocate(int64_t bytes, const CancelToken* cancel) override {
    return null_->Allocate(bytes, cancel);
  }
  void Free(const DeviceMemory& memory) override { null_->Free(memory); }
  Expected<std::unique_ptr<KernelSet>> LoadKernels(std::span<const KernelSpec> kernels,
                                                   std::span<const KernelLibrarySpec> libraries,
                                                   const LoadProgress& progress) override {
    for (const KernelSpec& kernel : kernels) names.push_back(kernel.name);
    return null_->LoadKernels(kernels, libraries, progress);
  }
  Expected<std::unique_ptr<Queue>> NewQueue() override { return null_->NewQueue(); }
  DeviceStatistics statistics() const override { return null_->statistics(); }

  std::vector<std::string> names;

 private:
  std::shared_ptr<Device> null_ = CreateNullDevice({});
};

TEST(Warm, BuildsWhatARunLaunches) {
  auto program = Assemble(kProgram);
  ASSERT_TRUE(program) << program.error().message;
  NotingDevice device;
  std::vector<size_t> ready;
  auto result = WarmKernels(**program, device, [&](size_t n) { ready.push_back(n); });
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->kernels, 2u);
  EXPECT_EQ(result->form, "nothing is computed");
  EXPECT_THAT(device.names, ElementsAre("used", "called"));
  EXPECT_THAT(ready, ElementsAre(2));
  EXPECT_EQ(GpuKernelCount(**program), 2u);
  EXPECT_EQ(device.statistics().live_bytes, 0);
}

TEST(Warm, NeedsAGpuAndAProgramForIt) {
  auto program = Assemble(kProgram);
  ASSERT_TRUE(program);
  auto cpu = WarmKernels(**program, *CreateCpuDevice({}));
  ASSERT_FALSE(cpu);
  EXPECT_EQ(cpu.error().message, "cpu is no GPU: its kernels are machine code");
  auto plain = Assemble("entry @main\nfunc @main() -> () frame 1, 1 {\n  return [], []\n}\n");
  ASSERT_TRUE(plain);
  auto result = WarmKernels(**plain, *CreateNullDevice({}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnsupported);
  EXPECT_EQ(result.error().message, "the program was not compiled for a GPU");
  EXPECT_EQ(GpuKernelCount(**plain), 0u);
}

}  // namespace
}  // namespace tvmvm
