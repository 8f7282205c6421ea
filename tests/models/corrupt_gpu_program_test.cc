// Code that the compiler did not write for real kernels of GPUs: it is refused, ends with an error, or runs.
#include <gmock/gmock.h>

#include "bytecode/verifier.h"
#include "tests/fuzz/kernel_models.h"
#include "tests/models/corrupt_code.h"
#include "tests/require.h"
#include "tests/serializer/editable_file.h"
#include "tests/serializer/signed_file.h"
#include "tests/tries.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

// Elementwise with rows, a product, a gather.
constexpr auto kModels = std::span(fuzz::kKernelModels).first<3>();

class CorruptGpuProgram : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = OpenDevice(GetParam(), {});
    if (!device) TVMVM_SKIP_WITHOUT(GetParam(), device.error().message);
    options_.devices = {*device};
  }
  // The bytes of what a program gives for certain inputs.
  std::vector<std::byte> Outcome(const std::shared_ptr<const Program>& program) {
    fuzz::Choices choices(1);
    auto vm = Vm::Create(program, options_);
    auto inputs = AnyInputs(program->main(), choices);
    std::vector<Tensor> outputs(1);
    Status status =
        vm && inputs ? (*vm)->NewInvocation().Run(*inputs, outputs) : Status(tl::unexpected(Error()));
    EXPECT_TRUE(status) << status.error().message;
    if (!status) return {};
    const auto* data = static_cast<const std::byte*>(outputs[0].data());
    return {data, data + outputs[0].byte_count()};
  }
  VmOptions options_;
};
INSTANTIATE_TEST_SUITE_P(Devices, CorruptGpuProgram, testing::Values("opencl", "vulkan"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(CorruptGpuProgram, OtherCodeForRealKernelsIsRefusedOrRuns) {
  int refused = 0, ran = 0, numbers = 0, bytes = 0;
  for (std::string_view model : kModels) {
    const std::shared_ptr<const Program> original = CompiledFor(model, GetParam());
    ASSERT_TRUE(original);
    for (const KernelSpec& kernel : original->kernels) ASSERT_NE(kernel.contract, "") << kernel.name;
    const std::vector<std::byte> right = Outcome(original);
    for (uint32_t seed = 0; seed < Tries(300, 60); ++seed) {
      fuzz::Choices choices(seed);
      auto program = std::make_shared<Program>(*original);
      ChangeWords(program.get(), choices);
      if (!VerifyProgram(*program)) {
        ++refused;
        continue;
      }
      const Status status = RunAny(program, original->main(), options_, choices);
      ran += status ? 1 : 0;
      if (status) continue;
      ASSERT_NE(status.error().code, Code::kInternal) << "seed " << seed;
      const std::string& why = status.error().message;
      numbers += why.find("which is not as '") != std::string::npos ? 1 : 0;
      bytes += why.find(", where it wants ") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(Outcome(original) == right, true) << "the device serves others as before";
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(ran, 0);
  EXPECT_GT(numbers, 0);
  EXPECT_GT(bytes, 0);
}

// As strangers can make it where only the kernels and their rows have to be as they were signed.
TEST_P(CorruptGpuProgram, OtherCodeForSignedKernelsIsRefusedOrRuns) {
  const KeyFolder keys;
  options_.trust = Trust::kSignedKernels;
  options_.trusted_keys = {keys.key("mine")};
  int ran = 0, failed = 0;
  for (std::string_view model : kModels) {
    const std::shared_ptr<const Program> original = CompiledFor(model, GetParam());
    ASSERT_TRUE(original);
    const std::vector<std::byte> file = keys.Signed(*original, "mine");
    for (uint32_t seed = 0; seed < Tries(200, 60); ++seed) {
      fuzz::Choices choices(seed);
      EditableFile parts(file);
      if (seed > 0) parts.section("code") = OtherCode(*original, choices);
      const bool is_attack = seed % 8 == 7;
      std::vector<std::byte>& rows = parts.section("kernels.rows");
      if (is_attack) rows[choices.Below(rows.size())] ^= std::byte{1};
      auto program = LoadProgramFromMemory(parts.Build());
      if (!program) continue;
      const Status status = RunAny(*program, original->main(), options_, choices);
      ++(status ? ran : failed);
      ASSERT_TRUE(status || (seed > 0 && status.error().code != Code::kInternal)) << "seed " << seed;
      ASSERT_FALSE(status && is_attack) << "seed " << seed;
    }
  }
  EXPECT_GT(ran, 0);
  EXPECT_GT(failed, 0);
}

// What was signed runs on the device itself, not only on the CPU beside it.
TEST_P(CorruptGpuProgram, SignedKernelsRunOnTheDevice) {
  const KeyFolder keys;
  options_.trust = Trust::kSignedKernels;
  options_.trusted_keys = {keys.key("mine")};
  for (std::string_view model : kModels) {
    auto program = LoadProgramFromMemory(keys.Signed(*CompiledFor(model, GetParam()), "mine"));
    ASSERT_TRUE(program) << program.error().message;
    auto vm = Vm::Create(*program, options_);
    ASSERT_TRUE(vm) << vm.error().message;
    EXPECT_EQ((*vm)->Devices().size(), 2u);
    EXPECT_FALSE(Outcome(*program).empty());
  }
}

}  // namespace
}  // namespace tvmvm
