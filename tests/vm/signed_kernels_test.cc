// Trust::kSignedKernels: what others than the signer may change of a file, and what they may not.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>

#include "devices/null/null_device.h"
#include "serializer/program_generated.h"
#include "tests/program_texts.h"
#include "tests/serializer/signed_file.h"
#include "tests/vm/plus_program.h"
#include "tvm-vm/cpu_device.h"
#include "tvm-vm/warm.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

// y = x + 7 by a kernel that has a contract; another one has none.
std::string TextWith(std::string_view launched, int number = 7) {
  return fmt::format(R"---(
entry @main
kernel @plus cpu symbol "plus" scalars 1 buffers [read, write] contract "0; 8; 8; eq(x, 1); eq(y, 1); eq(z, 1)"
kernel @bare cpu symbol "plus" scalars 1 buffers [read, write]
func @main("x": i64[1]) -> ("y": i64[1]) frame 4, 2 {{
  i0 = const 0
  i1 = const 1
  i2 = const {}
  r1 = output 0, [i1]
  launch @{}, 0, [i1, i1, i1, i0, i0, i0], [i2], [r0, r1]
  return [], [r1]
}}
)---",
                     number, launched);
}

class SignedKernels : public ::testing::Test {
 protected:
  VmOptions Options() const {
    VmOptions options;
    options.threads = 1;
    options.jit = std::make_shared<TestJit>(std::map<std::string, KernelFunction>{{"plus", PlusKernel}});
    options.trust = Trust::kSignedKernels;
    options.trusted_keys = {folder_.key("mine")};
    return options;
  }
  Bytes Signed(std::string_view text) const { return folder_.Signed(*ProgramOf(text), "mine"); }
  // What comes out for 3, or an error.
  std::string Outcome(const Bytes& file, const VmOptions& options) const {
    auto program = LoadProgramFromMemory(file);
    if (!program) return "load: " + program.error().message;
    auto vm = Vm::Create(*program, options);
    if (!vm) return vm.error().message;
    std::array inputs{Ints({3})};
    std::array outputs{Tensor()};
    if (Status status = (*vm)->NewInvocation().Run(inputs, outputs); !status) return status.error().message;
    return std::to_string(ToInts(outputs[0]).at(0));
  }
  std::string Outcome(const Bytes& file) const { return Outcome(file, Options()); }

  // The file with code, metadata and debug section of another program, which nobody signed.
  static Bytes WithOther(const Bytes& file, std::string_view text) {
    EditableFile parts(file), others(*SerializeProgram(*ProgramOf(text)));
    for (const char* name : {"code", "metadata", "debug"})
      std::swap(parts.section(name), others.section(name));
    return parts.Build();
  }
  // With other rows of the kernels.
  static Bytes WithRows(const Bytes& file, const std::function<void(schema::KernelRowsT*)>& edit) {
    EditableFile parts(file);
    Bytes& section = parts.section("kernels.rows");
    schema::KernelRowsT rows;
    flatbuffers::GetRoot<schema::KernelRows>(section.data())->UnPackTo(&rows);
    edit(&rows);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(schema::KernelRows::Pack(builder, &rows));
    const auto begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    section.assign(begin, begin + builder.GetSize());
    return parts.Build();
  }

  KeyFolder folder_;
};

TEST_F(SignedKernels, OthersMayWriteTheCode) {
  const Bytes file = Signed(TextWith("plus"));
  EXPECT_EQ(Outcome(file), "10");
  const Bytes other = WithOther(file, TextWith("plus", 20));
  EXPECT_EQ(Outcome(other), "23");
  VmOptions whole = Options();
  whole.trust = Trust::kSigned;
  EXPECT_THAT(Outcome(other, whole), HasSubstr("was changed after the file was signed"));

  // A signature of the whole is not asked for.
  EditableFile parts(file);
  signature::SignatureSection signature = SignatureOf(&parts);
  signature.signatures[0].program[0] ^= 1;
  SetSignature(&parts, signature);
  EXPECT_EQ(Outcome(parts.Build()), "10");
  EXPECT_THAT(Outcome(parts.Build(), whole), HasSubstr("is not of this file's sections"));
  signature.signatures[0].kernels[0] ^= 1;
  SetSignature(&parts, signature);
  EXPECT_THAT(Outcome(parts.Build()), HasSubstr("is not of this file's sections"));
}

TEST_F(SignedKernels, OthersLaunchesAreHeldToTheContract) {
  const Bytes file = Signed(TextWith("plus"));
  std::string wide = TextWith("plus");
  wide.replace(wide.find("[i1, i1, i1, i0"), 15, "[i2, i1, i1, i0");
  EXPECT_THAT(Outcome(WithOther(file, wide)), HasSubstr("which is not as 'eq(x, 1)' wants"));
  std::string beyond = TextWith("plus");
  beyond.replace(beyond.find("[r0, r1]\n  return"), 8, "[r0, r1+i1]");
  EXPECT_THAT(Outcome(WithOther(file, beyond)), HasSubstr("is given 7 bytes as buffer 1, where it wants 8"));
  std::string into_input = TextWith("plus");
  into_input.replace(into_input.find("[r0, r1]\n  return"), 8, "[r1, r0]");
  EXPECT_THAT(Outcome(WithOther(file, into_input)), HasSubstr("writes"));
}

TEST_F(SignedKernels, KernelsWithoutContractAreRefused) {
  const std::string why =
      "the program's kernels are refused: no contract holds 'bare' on cpu within its buffers; @main runs 1 "
      "of "
      "them, the first is 'bare'";
  EXPECT_EQ(Outcome(Signed(TextWith("bare"))), why);
  EXPECT_EQ(Outcome(WithOther(Signed(TextWith("plus")), TextWith("bare"))), why) << "signed, but not bound";
  EXPECT_EQ(Outcome(Signed(TextWith("plus"))), "10") << "what is not launched does no harm";
}

// Contracts, symbols, numbers of scalars, accesses, alignments, targets of libraries.
TEST_F(SignedKernels, NoChangeOfRowsRuns) {
  // Packed as the edits are, so that those alone differ.
  const std::string path = folder_.Write("packed.vmexe", WithRows(Signed(TextWith("plus")), [](auto*) {}));
  ASSERT_TRUE(SignFile(path, folder_.secret("mine"), path));
  const Bytes file = folder_.Read("packed.vmexe");
  const std::function<void(schema::KernelRowsT*)> attacks[] = {
      [](auto* rows) { rows->kernels[0]->contract = "0; 0; 0"; },
      [](auto* rows) { rows->kernels[0]->contract.clear(); },
      [](auto* rows) { rows->kernels[1]->contract = rows->kernels[0]->contract; },
      [](auto* rows) { rows->kernels[0]->symbol = "minus"; },
      [](auto* rows) { rows->kernels[1]->symbol = "minus"; },
      [](auto* rows) { rows->kernels[0]->buffers[1] = static_cast<uint8_t>(Access::kRead); },
      [](auto* rows) { rows->kernels[0]->alignments.assign(2, 8); },
      [](auto* rows) { rows->kernels[0]->scratch_bytes = 1; },
      [](auto* rows) { rows->kernels[0]->error_messages.push_back(std::make_unique<schema::TextT>()); },
      [](auto* rows) { std::swap(rows->kernels[0]->contract, rows->kernels[1]->contract); },
      [](auto* rows) { std::swap(rows->kernels[0], rows->kernels[1]); },
      [](auto* rows) { rows->libraries[0]->target = "x86-64-v2"; },
      [](auto* rows) { rows->libraries[0]->form = static_cast<uint8_t>(KernelForm::kSharedObject); },
      [](auto* rows) { rows->libraries[0]->section = "kernels.opencl.opencl"; },
  };
  EXPECT_EQ(Outcome(WithRows(file, [](auto*) {})), "10");
  for (const auto& attack : attacks)
    EXPECT_THAT(Outcome(WithRows(file, attack)),
                HasSubstr("section 'kernels.rows' was changed after the file was signed"));
  // Fewer scalars than launches give do not even load.
  EXPECT_THAT(Outcome(WithRows(file, [](auto* rows) { rows->kernels[0]->scalar_count = 0; })),
              HasSubstr("load: "));
}

TEST_F(SignedKernels, NoChangeOfBytesRuns) {
  const Bytes file = Signed(TextWith("plus"));
  for (const char* name : {"kernels.rows", "kernels.cpu.host"}) {
    const size_t size = EditableFile(file).section(name).size();
    for (size_t at = 0; at < size; ++at) {
      EditableFile parts(file);
      parts.section(name)[at] ^= static_cast<std::byte>(1 << at % 8);
      EXPECT_NE(Outcome(parts.Build()), "10") << name << " at " << at;
    }
  }
}

// Rows in the metadata, as they stood before 1.3, are nobody's.
TEST_F(SignedKernels, RowsThatNobodySignedAreRefused) {
  const Bytes file = Signed(TextWith("plus"));
  EditableFile old(file);
  schema::KernelRowsT rows;
  flatbuffers::GetRoot<schema::KernelRows>(old.section("kernels.rows").data())->UnPackTo(&rows);
  schema::ProgramT metadata;
  flatbuffers::GetRoot<schema::Program>(old.section("metadata").data())->UnPackTo(&metadata);
  metadata.kernels = std::move(rows.kernels);
  metadata.libraries = std::move(rows.libraries);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(schema::Program::Pack(builder, &metadata));
  const auto begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  old.section("metadata").assign(begin, begin + builder.GetSize());
  old.Remove("kernels.rows");
  EXPECT_THAT(Outcome(old.Build()), HasSubstr("no section 'kernels.rows'"));
  VmOptions any = Options();
  any.trust = Trust::kAny;
  EXPECT_EQ(Outcome(old.Build(), any), "10");

  // The same file signed before it had the section, to which somebody adds one.
  const std::string path = folder_.Write("old.vmexe", old.Build());
  ASSERT_TRUE(SignFile(path, folder_.secret("mine"), path));
  EditableFile joined(folder_.Read("old.vmexe")), fresh(file);
  VmOptions whole = Options();
  whole.trust = Trust::kSigned;
  EXPECT_EQ(Outcome(joined.Build(), whole), "10");
  std::swap(joined.section("metadata"), fresh.section("metadata"));
  joined.Add("kernels.rows", true, fresh.section("kernels.rows"));
  EXPECT_THAT(Outcome(joined.Build()), HasSubstr("section 'kernels.rows' was not there"));
}

TEST_F(SignedKernels, SomebodyTrustedHasToSign) {
  EXPECT_THAT(Outcome(*SerializeProgram(*ProgramOf(TextWith("plus")))), HasSubstr("it is not signed"));
  EXPECT_THAT(Outcome(folder_.Signed(*ProgramOf(TextWith("plus")), "other")), HasSubstr("signed by "));
}

// kTwoEntries with a contract of its kernel.
std::string TwoEntries(std::string_view contract) {
  std::string text(kTwoEntries);
  text.insert(text.find("\nfunc @main"), fmt::format(" contract \"{}\"", contract));
  return text;
}
constexpr std::string_view kOfEight = "0; 8; 8; eq(x, 1); eq(y, 1); eq(z, 1)";

// The null device computes nothing: what it holds are zeros.
TEST_F(SignedKernels, KernelsOfGpusRunUnderTheirContracts) {
  const Bytes file = Signed(TwoEntries(kOfEight));
  VmOptions options = Options();
  options.devices = {CreateNullDevice({.kind = DeviceKind::kOpenCl})};
  EXPECT_EQ(Outcome(file, options), "0");
  std::string hostile = TwoEntries(kOfEight);
  hostile.replace(hostile.find("[i1, i1, i1, i0"), 15, "[i2, i1, i1, i0");
  EXPECT_THAT(Outcome(WithOther(file, hostile), options), HasSubstr("which is not as 'eq(x, 1)' wants"));
  hostile = TwoEntries(kOfEight);
  hostile.replace(hostile.find("[r2, r2]"), 8, "[r2, r2+i1]");
  EXPECT_THAT(Outcome(WithOther(file, hostile), options), HasSubstr("7 bytes as buffer 1, where it wants 8"));
  const auto attack = [](auto* rows) { rows->kernels[0]->contract = "0; 0; 0"; };
  EXPECT_EQ(Outcome(WithRows(file, attack), options), "10") << "the CPU's entry, which launches none";
}

// The entry for a GPU is refused and the CPU's runs.
TEST_F(SignedKernels, KernelsOfGpusWithoutContractAreRefused) {
  const Bytes file = Signed(kTwoEntries);
  VmOptions options = Options();
  options.devices = {CreateNullDevice({.kind = DeviceKind::kOpenCl})};
  auto program = LoadProgramFromMemory(file);
  ASSERT_TRUE(program) << program.error().message;
  auto vm = Vm::Create(*program, options);
  ASSERT_TRUE(vm) << vm.error().message;
  EXPECT_EQ((*vm)->Devices().size(), 1u);
  EXPECT_EQ(Outcome(file, options), "10");
  std::string alone(kTwoEntries);
  alone.replace(alone.find("entry @main\nentry [1, 0] @gpu"), 29, "devices [cpu 0, gpu 0]\nentry @gpu");
  EXPECT_THAT(Outcome(Signed(alone), options),
              HasSubstr("no contract holds 'k' on gpu within its buffers; @gpu runs 1 of them"));

  // What is compiled ahead is what somebody signed.
  auto device = CreateNullDevice({.kind = DeviceKind::kOpenCl});
  EXPECT_TRUE(WarmKernels(**program, *device, {}, Trust::kSignedKernels, options.trusted_keys));
  EXPECT_FALSE(
      WarmKernels(*ProgramOf(kTwoEntries), *device, {}, Trust::kSignedKernels, options.trusted_keys));
}

// A second CPU is a device with memory of its own.
TEST_F(SignedKernels, OtherCpusAreHeldToTheContract) {
  const Bytes file = Signed(TextWith("plus"));
  const auto on_second = [&](std::string_view kernel, std::string_view grid, std::string_view to) {
    std::string text = TextWith(kernel);
    text.insert(text.find("kernel @plus"), "devices [cpu 0, cpu 1]\n");
    text.replace(text.find("frame 4, 2"), 10, "frame 4, 4");
    const size_t launch = text.find("  launch");
    text.erase(launch, text.find("  return") - launch);
    text.insert(launch, fmt::format("  i3 = const 8\n  r2 = arena.on 1, i3\n  r3 = arena.on 1, i3\n"
                                    "  copy [r2, r0], i3\n"
                                    "  launch @{}, 1, [{}, i1, i1, i0, i0, i0], [i2], [r2, {}]\n"
                                    "  copy [r1, r3], i3\n",
                                    kernel, grid, to));
    VmOptions options = Options();
    for (int i = 0; i < 2; ++i)
      options.devices.push_back(CreateCpuDevice({.threads = 1, .jit = options.jit}));
    return Outcome(WithOther(file, text), options);
  };
  EXPECT_EQ(on_second("plus", "i1", "r3"), "10");
  EXPECT_THAT(on_second("plus", "i2", "r3"), HasSubstr("which is not as 'eq(x, 1)' wants"));
  EXPECT_THAT(on_second("plus", "i1", "r3+i1"), HasSubstr("is given 7 bytes as buffer 1, where it wants 8"));
  EXPECT_THAT(on_second("bare", "i1", "r3"), HasSubstr("no contract holds 'bare' on cpu:1 within"));
}

}  // namespace
}  // namespace tvmvm
