// However the compiling process ends and whatever it says, the service gets an error and goes on.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <filesystem>

#include "tests/cli/scratch.h"
#include "tests/folders.h"
#include "tests/isolated_compiler/small_models.h"
#include "tests/sanitizer.h"
#include "tvm-vm/isolated_compiler.h"

namespace tvmvm {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FalseCompiler : public ::testing::Test {
 protected:
  std::string Outcome(const std::string& what, IsolationOptions isolation = {}) {
    isolation.runner = folder_ / what;
    std::filesystem::remove(isolation.runner);
    std::filesystem::create_symlink(BuildPath("false_compiler"), isolation.runner);
    auto result = CompileFileIsolated("model.onnx", {}, isolation);
    if (result) return "";
    return std::string(CodeName(result.error().code)) + ": " + result.error().message;
  }

  const cli::ScratchFolder folder_;
  const NothingLeft nothing_left_;
};

TEST_F(FalseCompiler, CrashesNameTheSignalAndWhatWasSaid) {
  EXPECT_EQ(Outcome("segv"),
            "internal: compiling 'model.onnx': the compiler's process crashed: SIGSEGV (Segmentation fault); "
            "it said: a last word  [31m");
  EXPECT_THAT(Outcome("abort", {.max_bytes = 1000}),
              HasSubstr("crashed: SIGABRT (Aborted) (its limit is 1000 bytes); it said: a last word"));
  EXPECT_EQ(Outcome("exit"),
            "internal: compiling 'model.onnx': the compiler's process ended by itself, with exit code 7");
}

TEST_F(FalseCompiler, LackOfMemoryIsToldApart) {
  const std::string no_memory =
      "out_of_memory: compiling 'model.onnx': the compiler's process has no memory left: ";
  EXPECT_EQ(Outcome("llvm", {.max_bytes = 1000}), no_memory + "its limit is 1000 bytes");
  EXPECT_EQ(Outcome("bad_alloc"), no_memory + "the system gives it no more");
  EXPECT_THAT(Outcome("kill"),
              StartsWith("out_of_memory: compiling 'model.onnx': the compiler's process was killed"));
}

TEST_F(FalseCompiler, NoneTakesLongerThanItMay) {
  for (const char* what : {"silent", "chatty", "endless"}) {
    EXPECT_EQ(
        Outcome(what, {.timeout = 50ms}),
        "deadline_exceeded: compiling 'model.onnx': the time is over: the compiler's process was killed")
        << what;
  }
  EXPECT_THAT(Outcome("closed"),
              HasSubstr("internal: compiling 'model.onnx': the compiler's process closed its "
                        "connection and was killed"));
  EXPECT_EQ(Outcome("lingering"), "");
}

TEST_F(FalseCompiler, NonsenseIsAnError) {
  for (const char* what : {"garbage", "huge", "version", "program", "mapped"})
    EXPECT_THAT(
        Outcome(what),
        StartsWith(
            "internal: compiling 'model.onnx': the compiler's process answered nonsense and was killed: "))
        << what;
  EXPECT_THAT(Outcome("cut"), HasSubstr("ended by itself, with exit code 0"));
}

TEST_F(FalseCompiler, NothingIsPrinted) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Outcome("output"), "");
  const std::string printed =
      ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(printed, "");
}

TEST_F(FalseCompiler, GetsItsOwnDescriptorsAlone) {
  EXPECT_EQ(Outcome("descriptors"), "invalid_argument: 0 1 2 3 4 5 ");
}

TEST_F(FalseCompiler, WhereChildrensSignalsAreIgnoredCrashesAreStillErrors) {
  const sighandler_t before = signal(SIGCHLD, SIG_IGN);
  const std::string crash = Outcome("segv"), no_memory = Outcome("llvm");
  signal(SIGCHLD, before);
  EXPECT_THAT(crash,
              HasSubstr("internal: compiling 'model.onnx': the compiler's process ended without an answer"));
  EXPECT_THAT(no_memory, StartsWith("out_of_memory: "));
}

TEST_F(FalseCompiler, WhatIsNoProgramIsNoRunner) {
  auto result = CompileFileIsolated("model.onnx", {}, {.runner = folder_.path()});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("cannot start '" + folder_.path() + "': Permission denied"));
}

}  // namespace
}  // namespace tvmvm
