// Which programs run under each trust, and which of their kernels.
#include <gmock/gmock.h>

#include "devices/null/null_device.h"
#include "tests/program_texts.h"
#include "tests/serializer/signed_file.h"
#include "tests/vm/plus_program.h"
#include "tvm-vm/warm.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

// y = x + 7, by a kernel.
constexpr std::string_view kWithKernel = R"(
entry @main
kernel @plus cpu symbol "plus" scalars 1 buffers [read, write]
constant c0 "w": i64[2] hex "05000000000000000600000000000000"
func @main("x": i64[1]) -> ("y": i64[1]) frame 4, 2 {
  i0 = const 0
  i1 = const 1
  i2 = const 7
  r1 = output 0, [i1]
  launch @plus, 0, [i1, i1, i1, i0, i0, i0], [i2], [r0, r1]
  return [], [r1]
}
)";

std::shared_ptr<const Program> ProgramWithKernel() { return ProgramOf(kWithKernel); }

class TrustTest : public ::testing::Test {
 protected:
  VmOptions Options(Trust trust) const {
    VmOptions options;
    options.threads = 1;
    options.jit = std::make_shared<TestJit>(std::map<std::string, KernelFunction>{{"plus", PlusKernel}});
    options.trust = trust;
    options.trusted_keys = {folder_.key("mine")};
    return options;
  }

  // "" where the program runs and is right.
  std::string Outcome(const Bytes& file, const VmOptions& options) const {
    auto program = LoadProgramFromMemory(file);
    if (!program) return "load: " + program.error().message;
    auto vm = Vm::Create(*program, options);
    if (!vm) return std::string(CodeName(vm.error().code)) + ": " + vm.error().message;
    std::array inputs{Ints({3})};
    std::array outputs{Tensor()};
    if (Status status = (*vm)->NewInvocation().Run(inputs, outputs); !status) return status.error().message;
    return ToInts(outputs[0]) == std::vector<int64_t>{10} ? "" : "another result";
  }
  std::string Outcome(const Bytes& file) const { return Outcome(file, Options(Trust::kSigned)); }

  KeyFolder folder_;
};

TEST_F(TrustTest, LevelsDifferInWhoseKernelsRun) {
  const Bytes plain = *SerializeProgram(*ProgramWithKernel());
  const Bytes mine = folder_.Signed(*ProgramWithKernel(), "mine");
  const Bytes others = folder_.Signed(*ProgramWithKernel(), "other");
  for (const Bytes& file : {plain, mine, others}) {
    EXPECT_EQ(Outcome(file, Options(Trust::kAny)), "");
    EXPECT_EQ(Outcome(file, Options(Trust::kNone)),
              "invalid_program: the program's kernels are refused: no kernels are trusted; @main runs 1 of "
              "them, the first is 'plus'");
  }
  EXPECT_EQ(Outcome(mine), "");
  EXPECT_THAT(Outcome(plain), HasSubstr("kernels are refused: it is not signed"));
  EXPECT_THAT(Outcome(others), HasSubstr("signed by " + folder_.key("other").Hex()));
  VmOptions nobody = Options(Trust::kSigned);
  nobody.trusted_keys.clear();
  EXPECT_THAT(Outcome(mine, nobody), HasSubstr("wanted one of the trusted keys: none is given"));
  VmOptions both = Options(Trust::kSigned);
  both.trusted_keys.push_back(folder_.key("other"));
  EXPECT_EQ(Outcome(others, both), "");
}

TEST_F(TrustTest, ProgramsMadeInMemoryAreNotSigned) {
  auto vm = Vm::Create(ProgramWithKernel(), Options(Trust::kSigned));
  ASSERT_FALSE(vm);
  EXPECT_THAT(vm.error().message, HasSubstr("it is not signed"));
}

// Whoever changes what decides about kernels finds none of them run, digests made right or not.
TEST_F(TrustTest, NoChangeOfCodeMetadataOrKernelsRuns) {
  const Bytes file = folder_.Signed(*ProgramWithKernel(), "mine");
  for (const char* name : {"metadata", "code", "debug", "kernels.rows", "kernels.cpu.host",
                           "kernels.opencl.opencl", "signature"}) {
    const size_t size = EditableFile(file).section(name).size();
    int refused = 0, ran = 0;
    for (size_t at = 0; at < size; ++at) {
      EditableFile parts(file);
      parts.section(name)[at] ^= static_cast<std::byte>(1 << at % 8);
      Outcome(parts.Build()).empty() ? ++ran : ++refused;
    }
    // Kernels that are not for this device do no harm.
    const bool is_unused = std::string_view(name) == "kernels.opencl.opencl";
    EXPECT_EQ(is_unused ? refused : ran, 0) << name;
    EXPECT_GT(is_unused ? ran : refused, 0) << name;
  }
}

TEST_F(TrustTest, AttacksOnTheSignature) {
  const Bytes file = folder_.Signed(*ProgramWithKernel(), "mine");
  EditableFile stripped(file);
  stripped.Remove("signature");
  EXPECT_THAT(Outcome(stripped.Build()), HasSubstr("it is not signed"));

  // The code of another program under the signature of this one, and the other way round.
  auto other = Assemble(kAddOne);
  ASSERT_TRUE(other);
  EditableFile foreign(folder_.Signed(**other, "other"));
  EditableFile parts(file);
  std::swap(parts.section("code"), foreign.section("code"));
  EXPECT_NE(Outcome(parts.Build()), "");
  std::swap(parts.section("code"), foreign.section("code"));

  // Somebody signs a changed file, and puts my key's name on it.
  parts.section("kernels.cpu.host")[0] ^= std::byte{1};
  const std::string path = folder_.Write("changed.vmexe", parts.Build());
  ASSERT_TRUE(SignFile(path, folder_.secret("other"), path));
  EditableFile forged(folder_.Read("changed.vmexe"));
  signature::SignatureSection signature = SignatureOf(&forged);
  signature.signatures[0].key = folder_.key("mine").bytes;
  SetSignature(&forged, signature);
  EXPECT_THAT(Outcome(forged.Build()), HasSubstr("is not of this file's sections"));

  // Kernels that nobody signed join those that I did.
  EditableFile joined(file);
  joined.Add("kernels.cpu.x86-64-v3", true, Bytes(64));
  EXPECT_EQ(Outcome(joined.Build()), "") << "nothing refers to them";
}

TEST_F(TrustTest, ConstantsAreCheckedOnRequest) {
  EditableFile parts(folder_.Signed(*ProgramWithKernel(), "mine"));
  VmOptions options = Options(Trust::kSigned);
  options.signed_constants = true;
  EXPECT_EQ(Outcome(parts.Build(), options), "");
  parts.section("constants")[0] ^= std::byte{1};
  EXPECT_EQ(Outcome(parts.Build()), "");
  EXPECT_THAT(Outcome(parts.Build(), options), HasSubstr("section 'constants' was changed"));
}

TEST_F(TrustTest, WhatNeedsNoKernelsRunsInPlaceOfWhatIsRefused) {
  auto assembled = Assemble(kTwoEntries);
  ASSERT_TRUE(assembled) << assembled.error().message;
  const Bytes file = *SerializeProgram(**assembled);
  for (const Trust trust : {Trust::kAny, Trust::kSigned, Trust::kNone}) {
    VmOptions options = Options(trust);
    options.devices = {CreateNullDevice({})};
    auto vm = Vm::Create(*LoadProgramFromMemory(file), options);
    ASSERT_TRUE(vm) << vm.error().message;
    EXPECT_EQ((*vm)->Devices().size(), trust == Trust::kAny ? 2u : 1u);
    if (trust != Trust::kAny) {
      EXPECT_EQ(Outcome(file, options), "");
    }
  }
  auto add = Assemble(kAddOne);
  ASSERT_TRUE(add);
  EXPECT_EQ(Outcome(*SerializeProgram(**add), Options(Trust::kNone)), "another result") << "it ran: 3 + 1";
}

TEST_F(TrustTest, DriversSeeNoKernelsThatAreRefused) {
  auto assembled = Assemble(kTwoEntries);
  ASSERT_TRUE(assembled);
  auto device = CreateNullDevice({});
  EXPECT_TRUE(WarmKernels(**assembled, *device));
  auto refused = WarmKernels(**assembled, *device, {}, Trust::kNone);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the program's kernels are refused: no kernels are trusted");
}

TEST_F(TrustTest, KernelsOfOneFormMayBeRefusedAlone) {
  EditableFile parts(folder_.Signed(*ProgramWithKernel(), "mine"));
  parts.section("kernels.opencl.opencl")[0] ^= std::byte{1};
  EXPECT_EQ(Outcome(parts.Build()), "") << "the CPU's are as they were";
  parts.section("kernels.opencl.opencl")[0] ^= std::byte{1};
  parts.section("kernels.cpu.host")[0] ^= std::byte{1};
  EXPECT_THAT(Outcome(parts.Build()),
              HasSubstr("section 'kernels.cpu.host' was changed after the file was signed"));
}

}  // namespace
}  // namespace tvmvm
