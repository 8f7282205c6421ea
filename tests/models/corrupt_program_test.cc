// Damaged .vmexe files of a real model: they are refused, or they run under limits.
#include <gtest/gtest.h>

#include "bytecode/kernel_abi.h"
#include "bytecode/verifier.h"
#include "tests/fuzz/kernel_models.h"
#include "tests/models/corrupt_code.h"
#include "tests/models/corruption.h"
#include "tests/models/demo_model.h"
#include "tests/serializer/editable_file.h"
#include "tests/serializer/signed_file.h"
#include "tests/tries.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using Bytes = std::vector<std::byte>;

Status RunSmall(std::shared_ptr<const Program> program, const VmOptions& options) {
  TVMVM_TRY(std::shared_ptr<Vm> vm, Vm::Create(std::move(program), options));
  Invocation invocation = vm->NewInvocation();
  invocation.SetLimits(SmallLimits());
  std::vector<float> values(static_cast<size_t>(2 * 3 * kDemoWidth), 0.5f);
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kF32, {2, 3, kDemoWidth}, values.data())};
  std::vector<Tensor> outputs(1);
  return invocation.Run(inputs, outputs);
}

std::shared_ptr<const Program> DemoProgram() {
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  auto compiled = GetCompiler().CompileBytes(DemoModel(), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? compiled->program : nullptr;
}

// Where a file may differ and load: in the weights, and between sections, where nobody reads.
bool IsUnreadByLoad(const EditableFile& parts, size_t at) {
  if (at < sizeof(wire::FileHeader) + parts.entries.size() * sizeof(wire::SectionEntry)) return false;
  for (const wire::SectionEntry& entry : parts.entries)
    if (at >= entry.offset && at < entry.offset + entry.bytes)
      return std::string_view(entry.name.data()) == wire::kConstantsSection;
  return true;
}

TEST(CorruptProgram, DamageThatLoadDoesNotSeeIsInTheWeights) {
  Bytes file = *SerializeProgram(*DemoProgram());
  EditableFile parts(file);
  VmOptions options;
  options.threads = 1;
  Corruption corruption(1);
  int refused = 0, ran = 0;
  for (uint32_t i = 0; i < Tries(2000, 300); ++i) {
    Bytes damaged = corruption.Apply(file);
    auto program = LoadProgramFromMemory(damaged);
    if (!program) {
      ++refused;
      ASSERT_FALSE(program.error().message.empty()) << "change " << i;
      continue;
    }
    ++ran;
    ASSERT_EQ(damaged.size(), file.size()) << "change " << i;
    for (size_t at = 0; at < file.size(); ++at) {
      if (damaged[at] == file[at]) continue;
      ASSERT_TRUE(IsUnreadByLoad(parts, at)) << "change " << i << " at " << at;
    }
    Status status = RunSmall(*program, options);
    ASSERT_TRUE(status) << "change " << i << ": " << status.error().message;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(ran, 0);
}

// Kernels that do nothing: what code from nowhere hands to real ones is the caller's trust, not the machine's
// promise.
class IdleJit final : public KernelJit {
 public:
  Expected<Compiled> Compile(std::span<const std::byte>, std::span<const std::string> symbols) override {
    KernelFunction idle = [](const KernelArgs*, int64_t, int64_t) -> int32_t { return 0; };
    return Compiled{std::vector<KernelFunction>(symbols.size(), idle), nullptr};
  }
};

Bytes FileWithIdleKernels() {
  Program program = *DemoProgram();
  static constexpr std::byte kNothing[16] = {};
  program.libraries = {{DeviceKind::kCpu, KernelForm::kBitcode, "x86-64-v3", kNothing}};
  return *SerializeProgram(program);
}

TEST(CorruptProgram, DamageWithRightDigestsIsRefusedOrRunsUnderLimits) {
  Bytes file = FileWithIdleKernels();
  VmOptions options;
  options.threads = 1;
  options.jit = std::make_shared<IdleJit>();
  Corruption corruption(2);
  int refused = 0, failed = 0, ran = 0;
  for (uint32_t i = 0; i < Tries(6000, 2000); ++i) {
    EditableFile parts(file);
    Bytes& section = parts.section(std::array{"metadata", "code", "kernels.rows", "code", "debug"}[i % 5]);
    section = corruption.Apply(section);
    auto program = LoadProgramFromMemory(parts.Build());
    if (!program) {
      ++refused;
      ASSERT_FALSE(program.error().message.empty()) << "change " << i;
      continue;
    }
    ASSERT_FALSE(Disassemble(**program).empty()) << "change " << i;
    Status status = RunSmall(*program, options);
    status ? ++ran : ++failed;
    ASSERT_TRUE(status || !status.error().message.empty()) << "change " << i;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(failed, 0);
  EXPECT_GT(ran, 0);
}

TEST(CorruptProgram, OtherCodeForRealKernelsIsRefusedOrRuns) {
  std::vector<std::shared_ptr<const Program>> programs = {DemoProgram()};
  for (std::string_view model : fuzz::kKernelModels) programs.push_back(CompiledFor(model));
  int refused = 0, failed = 0, ran = 0;
  for (const auto& original : programs) {
    ASSERT_TRUE(original);
    for (const KernelSpec& kernel : original->kernels) ASSERT_NE(kernel.contract, "") << kernel.name;
    for (uint32_t seed = 0; seed < Tries(1500, 200); ++seed) {
      fuzz::Choices choices(seed);
      auto program = std::make_shared<Program>(*original);
      ChangeWords(program.get(), choices);
      if (!VerifyProgram(*program)) {
        ++refused;
        continue;
      }
      Status status = RunAny(program, original->main(), {}, choices);
      status ? ++ran : ++failed;
      ASSERT_TRUE(status || status.error().code != Code::kInternal) << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(failed, 0);
  EXPECT_GT(ran, 0);
}

// As strangers can make it where only the kernels and their rows have to be as they were signed.
TEST(CorruptProgram, OtherCodeForSignedKernelsIsRefusedOrRuns) {
  const KeyFolder keys;
  VmOptions options;
  options.trust = Trust::kSignedKernels;
  options.trusted_keys = {keys.key("mine")};
  Corruption corruption(3);
  int refused = 0, failed = 0, ran = 0, attacked = 0;
  for (std::string_view model : fuzz::kKernelModels) {
    const std::shared_ptr<const Program> original = CompiledFor(model);
    ASSERT_TRUE(original);
    const Bytes file = keys.Signed(*original, "mine");
    for (uint32_t seed = 0; seed < Tries(1000, 200); ++seed) {
      fuzz::Choices choices(seed);
      EditableFile parts(file);
      Bytes& metadata = parts.section("metadata");
      if (seed % 2 == 0) metadata = corruption.Apply(metadata);
      if (seed % 4 != 0) parts.section("code") = OtherCode(*original, choices);
      Bytes& rows = parts.section("kernels.rows");
      const bool is_attack = seed % 8 == 7;
      if (is_attack) rows[choices.Below(rows.size())] ^= std::byte{1};
      auto program = LoadProgramFromMemory(parts.Build());
      if (!program) {
        ++refused;
        continue;
      }
      Status status = RunAny(*program, original->main(), options, choices);
      status ? ++ran : ++failed;
      ASSERT_TRUE(status || status.error().code != Code::kInternal) << "seed " << seed;
      ASSERT_FALSE(status && is_attack) << "seed " << seed;
      if (is_attack) ++attacked;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(failed, 0);
  EXPECT_GT(ran, 0);
  EXPECT_GT(attacked, 0);
}

}  // namespace
}  // namespace tvmvm
