// Trust and counters through the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/program_texts.h"
#include "tests/serializer/signed_file.h"
#include "tests/vm/c_api_session.h"

namespace tvmvm {
namespace {

using testing::CSession;
using ::testing::HasSubstr;
using testing::Take;

// A kernel for which there is machine code that nobody can load: whoever trusts it is told so.
constexpr std::string_view kWithKernel = R"(
entry @main
kernel @k cpu symbol "k" scalars 0 buffers [read, write]
func @main("x": i64[1]) -> ("y": i64[1]) frame 2, 2 {
  i0 = const 0
  i1 = const 1
  r1 = output 0, [i1]
  launch @k, 0, [i1, i1, i1, i0, i0, i0], [], [r0, r1]
  return [], [r1]
}
)";

class CTrust : public ::testing::Test {
 protected:
  CTrust() {
    auto assembled = Assemble(kWithKernel);
    EXPECT_TRUE(assembled) << assembled.error().message;
    auto program = std::make_shared<Program>(**assembled);
    static const std::vector<std::byte> code(64, std::byte{1});
    program->libraries = {{DeviceKind::kCpu, KernelForm::kSharedObject, "x86-64-v3", code}};
    folder_.Write("file.vmexe", folder_.Signed(*program, "mine"));
    EXPECT_EQ(Take(tvmvm_program_load_with((folder_ / "file.vmexe").c_str(), nullptr, &program_)), "");
    for (const char* name : {"mine", "other"})
      EXPECT_EQ(Take(tvmvm_public_key_read((folder_ / (std::string(name) + ".pub")).c_str(),
                                           keys_ + (name[0] == 'm' ? 0 : 32))),
                "");
  }
  ~CTrust() override { tvmvm_program_free(program_); }

  std::string Create(int trust, const uint8_t* keys, size_t count) {
    tvmvm_vm_options options = {};
    options.size = sizeof options;
    options.threads = 1;
    options.trust = trust;
    options.trusted_keys = keys;
    options.trusted_key_count = count;
    tvmvm_vm* vm = nullptr;
    std::string message = Take(tvmvm_vm_create(program_, &options, &vm));
    tvmvm_vm_free(vm);
    return message;
  }

  KeyFolder folder_;
  tvmvm_program* program_ = nullptr;
  uint8_t keys_[64] = {};
};

TEST_F(CTrust, OptionsSayWhoseKernelsRun) {
  const char* refused = "the program's kernels are refused";
  EXPECT_THAT(Create(TVMVM_TRUST_NONE, nullptr, 0), HasSubstr(refused));
  EXPECT_THAT(Create(TVMVM_TRUST_SIGNED, nullptr, 0), HasSubstr(refused));
  EXPECT_THAT(Create(TVMVM_TRUST_SIGNED, keys_ + 32, 1), HasSubstr(refused));
  for (const size_t count : {1, 2}) {
    const std::string message = Create(TVMVM_TRUST_SIGNED, keys_, count);
    EXPECT_THAT(message, Not(HasSubstr(refused))) << count;
    EXPECT_EQ(message, Create(TVMVM_TRUST_ANY, nullptr, 0)) << "the loader's own words on this code";
  }
  EXPECT_THAT(Create(TVMVM_TRUST_SIGNED_KERNELS, nullptr, 0), HasSubstr("none is given"));
  EXPECT_THAT(Create(TVMVM_TRUST_SIGNED_KERNELS, keys_, 1), HasSubstr("no contract holds"));
  EXPECT_EQ(Create(4, nullptr, 0), "options.trust is 4, which is no tvmvm_trust");
  EXPECT_EQ(Create(-1, nullptr, 0), "options.trust is -1, which is no tvmvm_trust");
  EXPECT_EQ(Create(TVMVM_TRUST_SIGNED, nullptr, 1), "options.trusted_keys is null");
}

TEST_F(CTrust, ConstantsAreCheckedOnRequest) {
  auto assembled = Assemble(R"(
entry @main
constant c0 "w": i64[2] hex "05000000000000000600000000000000"
func @main("x": i64[1]) -> ("y": i64[1]) frame 1, 1 {
  return [], [r0]
}
)");
  ASSERT_TRUE(assembled) << assembled.error().message;
  std::vector<std::byte> file = *SerializeProgram(**assembled);
  const std::string path = folder_.Write("constants.vmexe", file);
  tvmvm_load_options options = {sizeof options, 1};
  tvmvm_program* program = nullptr;
  EXPECT_EQ(Take(tvmvm_program_load_with(path.c_str(), &options, &program)), "");
  tvmvm_program_free(program);
  EditableFile parts(file);
  for (const wire::SectionEntry& entry : parts.entries)
    if (std::string_view(entry.name.data()) == wire::kConstantsSection) file[entry.offset] ^= std::byte{1};
  folder_.Write("constants.vmexe", file);
  EXPECT_EQ(Take(tvmvm_program_load(path.c_str(), &program)), "");
  tvmvm_program_free(program);
  EXPECT_THAT(Take(tvmvm_program_load_with(path.c_str(), &options, &program)),
              HasSubstr("section 'constants' is damaged"));
}

TEST(CCounters, CountTheEndsOfRuns) {
  CSession session(testing::kFactorial);
  EXPECT_EQ(session.Run(1), "");
  EXPECT_EQ(session.Run(2), "");
  tvmvm_invocation_set_limits(session.invocation, 0, 10, 0);
  EXPECT_NE(session.Run(9), "");
  tvmvm_invocation_set_limits(session.invocation, 0, 0, 0);
  tvmvm_invocation_cancel(session.invocation);
  EXPECT_NE(session.Run(9), "");
  EXPECT_NE(Take(tvmvm_invocation_run(session.invocation, nullptr, 0, nullptr, 0)), "");
  tvmvm_run_counters counters = {};
  counters.size = sizeof counters;
  EXPECT_EQ(Take(tvmvm_vm_get_counters(session.vm, &counters)), "");
  EXPECT_EQ(counters.ok, 2);
  EXPECT_EQ(counters.limited, 1);
  EXPECT_EQ(counters.cancelled, 1);
  EXPECT_EQ(counters.refused, 1);
  EXPECT_EQ(counters.lost + counters.failed, 0);
}

}  // namespace
}  // namespace tvmvm
