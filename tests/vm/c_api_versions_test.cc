// What was built with another version of c_api.h: structs of other sizes, and a program from before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/program_texts.h"
#include "tests/vm/c_api_calls.h"
#include "tests/vm/c_api_session.h"
#include "tvm-vm/version.h"

extern "C" int tvmvm_test_run_0_1_0(const void* bytes, size_t size);

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT

TEST(CApiVersions, TheLibraryTellsItsOwn) {
  EXPECT_EQ(tvmvm_version(), static_cast<uint32_t>(TVMVM_VERSION));
  EXPECT_EQ(Version(), static_cast<uint32_t>(TVMVM_VERSION));
  EXPECT_EQ(VersionText(1002003), "1.2.3");
}

TEST(CApiVersions, ProgramsOfBeforeRun) {
  const std::vector<std::byte> bytes = CSession::BytesOf(kAddOne);
  EXPECT_EQ(tvmvm_test_run_0_1_0(bytes.data(), bytes.size()), 0);
}

TEST(CApiVersions, StructsMayBeOlderAndNewer) {
  CSession session(kAddOne);
  auto create = [&](const tvmvm_vm_options* options) {
    tvmvm_vm* vm = nullptr;
    std::string message = Take(tvmvm_vm_create(session.program, options, &vm));
    tvmvm_vm_free(vm);
    return message;
  };
  auto open = [&](const tvmvm_device_options* options) {
    tvmvm_device* device = nullptr;
    std::string message = Take(tvmvm_device_open("cpu", options, &device));
    tvmvm_device_free(device);
    return message;
  };
  auto limit = [&](const tvmvm_limits* limits) {
    return Take(tvmvm_invocation_apply_limits(session.invocation, limits));
  };
  auto run = [&](const tvmvm_run_options* options) { return session.Run(1, options); };
  ExpectTolerant<tvmvm_vm_options>("options", offsetof(tvmvm_vm_options, devices), create);
  ExpectTolerant<tvmvm_device_options>("options", offsetof(tvmvm_device_options, pool), open);
  ExpectTolerant<tvmvm_limits>("limits", sizeof(tvmvm_limits), limit);
  ExpectTolerant<tvmvm_run_options>("options", offsetof(tvmvm_run_options, cancel), run);
  ExpectRefusesUnknown<tvmvm_vm_options>("vm options", create);
  ExpectRefusesUnknown<tvmvm_device_options>("device options", open);
  ExpectRefusesUnknown<tvmvm_limits>("limits", limit);
  ExpectRefusesUnknown<tvmvm_run_options>("run options", run);
}

TEST(CApiVersions, StatisticsFillWhatTheCallerKnows) {
  tvmvm_device* device = nullptr;
  ASSERT_EQ(Take(tvmvm_device_open("cpu", nullptr, &device)), "");
  auto ask = [&](tvmvm_device_statistics* to) { return Take(tvmvm_device_get_statistics(device, to)); };
  ExpectTolerant<tvmvm_device_statistics>("statistics", sizeof(tvmvm_device_statistics), ask);
  Later<tvmvm_device_statistics> later;
  std::memset(later.more, 0xff, sizeof later.more);
  EXPECT_EQ(ask(&later.known), "");
  EXPECT_EQ(later.more[0], 0);
  EXPECT_EQ(later.more[1], 0);
  EXPECT_EQ(later.known.size, sizeof later);
  tvmvm_device_free(device);
}

TEST(CApiVersions, CountersAndLoadOptionsMayBeOlderAndNewer) {
  CSession session(kAddOne);
  auto count = [&](tvmvm_run_counters* to) { return Take(tvmvm_vm_get_counters(session.vm, to)); };
  ExpectTolerant<tvmvm_run_counters>("counters", sizeof(tvmvm_run_counters), count);
  const std::string path = ::testing::TempDir() + "tvm-vm-c-load-options.vmexe";
  auto assembled = Assemble(kAddOne);
  ASSERT_TRUE(assembled);
  ASSERT_TRUE(SaveProgram(**assembled, path));
  auto load = [&](const tvmvm_load_options* options) {
    tvmvm_program* program = nullptr;
    std::string message = Take(tvmvm_program_load_with(path.c_str(), options, &program));
    tvmvm_program_free(program);
    return message;
  };
  ExpectTolerant<tvmvm_load_options>("options", sizeof(tvmvm_load_options), load);
  ExpectRefusesUnknown<tvmvm_load_options>("load options", load);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tvmvm
