// What the other process says is hostile: whatever it is, the service gets an error and goes on.
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/folders.h"
#include "tests/vm/text_program.h"
#include "tvm-vm/sandbox.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kProgram = R"(
entry @main
func @main("x": i64[8]) -> ("y": i64[8]) frame 1, 1 {
  return [], [r0]
}
)";

class FalseRunner : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "false_runners." + std::to_string(getpid());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  SandboxOptions Options(const std::string& what) {
    SandboxOptions options{.start_timeout = 3s};
    options.runner = folder_ + "/" + what;
    options.timeout = 3s;
    std::filesystem::create_symlink(BuildPath("false_runner"), options.runner);
    return options;
  }
  // Of the first of two runs; the second has to go as the first, but for the processes that it takes.
  std::string Outcome(const std::string& what) {
    auto vm = SandboxedVm::Create(*Assemble(kProgram), Options(what));
    if (!vm) return TextOf(tl::unexpected(vm.error()));
    std::string outcomes[2];
    for (std::string& outcome : outcomes) {
      std::array inputs{Ints({1, 2, 3, 4, 5, 6, 7, 8})};
      std::array outputs{Tensor()};
      outcome = TextOf((*vm)->Run(inputs, outputs));
      std::this_thread::sleep_for(5ms);  // whatever else it says has come then
    }
    EXPECT_EQ(outcomes[0], outcomes[1]);
    starts_ = (*vm)->starts();
    return outcomes[0];
  }

  std::string folder_;
  int64_t starts_ = 0;
};

TEST_F(FalseRunner, AnAnswerAsItShouldBeIsTaken) {
  EXPECT_EQ(Outcome("good"), "");
  EXPECT_EQ(starts_, 1);
}

TEST_F(FalseRunner, NonsenseIsAnErrorAndTheNextRunIsANewProcesss) {
  for (const char* what : {"short", "long",  "version", "kind",     "ready", "records",  "none", "again",
                           "dtype", "float", "string",  "rank",     "rank2", "negative", "dims", "other",
                           "place", "bytes", "odd",     "sequence", "empty", "nothing"}) {
    EXPECT_THAT(Outcome(what),
                StartsWith("invalid_program: the sandboxed process answered nonsense and was killed: "))
        << what;
    EXPECT_EQ(starts_, 2) << what;
  }
}

TEST_F(FalseRunner, EndsAreToldApart) {
  EXPECT_EQ(Outcome("exit"), "invalid_program: the sandboxed process ended by itself, with exit code 7");
  EXPECT_EQ(Outcome("call"),
            "invalid_program: the sandboxed process was ended: it made the system call number " +
                std::to_string(INT64_MIN) + ", which is refused");
  EXPECT_EQ(Outcome("closed"), "invalid_program: the sandboxed process ended by itself, with exit code 0");
  EXPECT_EQ(Outcome("lingers"),
            "invalid_program: the sandboxed process closed its connection and was killed");
  EXPECT_EQ(Outcome("silent"), "deadline_exceeded: the time is over: the sandboxed process was killed");
  EXPECT_EQ(Outcome("unready"), "deadline_exceeded: the time is over: the sandboxed process was killed");
}

TEST_F(FalseRunner, ErrorsAreTakenAsTextAlone) {
  EXPECT_EQ(Outcome("code"), "internal: a strange error");
  EXPECT_THAT(Outcome("text"), StartsWith("invalid_argument: red?[31m?? text"));
  EXPECT_EQ(starts_, 1);
}

TEST_F(FalseRunner, RoomThatIsBeyondTheLimitIsNotMade) {
  EXPECT_THAT(Outcome("huge"),
              StartsWith("out_of_memory: sandbox: the outputs take 18446744073709551515 bytes"));
}

// An answer to a question that nobody asked is not taken for that of the next run.
TEST_F(FalseRunner, AnswersOfBeforeAreNotTaken) {
  EXPECT_EQ(Outcome("twice"), "");
  EXPECT_EQ(starts_, 2);
}

TEST_F(FalseRunner, NoProgramIsNoRunner) {
  SandboxOptions options;
  options.runner = folder_;
  auto vm = SandboxedVm::Create(*Assemble(kProgram), options);
  ASSERT_FALSE(vm);
  EXPECT_THAT(vm.error().message, HasSubstr("cannot start '" + folder_ + "': Permission denied"));
  options.runner = "/bin/true";
  EXPECT_THAT(TextOf(tl::unexpected(SandboxedVm::Create(*Assemble(kProgram), options).error())),
              HasSubstr("ended by itself, with exit code 0"));
}

}  // namespace
}  // namespace tvmvm
