// Programs in a process of their own: the same results, and what becomes of kernels that do what they like.
#include "tvm-vm/sandbox.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/sandbox/hostile_program.h"
#include "tests/vm/host_program.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

std::unique_ptr<SandboxedVm> Sandbox(std::shared_ptr<const Program> program,
                                     const SandboxOptions& options = {}) {
  auto vm = SandboxedVm::Create(std::move(program), options);
  EXPECT_TRUE(vm) << vm.error().message;
  return vm ? *std::move(vm) : nullptr;
}

std::unique_ptr<SandboxedVm> Hostile(const std::string& kernel, const SandboxOptions& options = {}) {
  return Sandbox(HostileProgram(kernel), options);
}

// The outcome of a run with x as given, filled up with zeros: y[0], or the error.
std::string Outcome(SandboxedVm& vm, std::vector<int64_t> x, const RunOptions& options = {}) {
  x.resize(8);
  std::array inputs{Ints(x)};
  std::array outputs{Tensor()};
  if (Status status = vm.Run(inputs, outputs, options); !status) return TextOf(status);
  return std::to_string(ToInts(outputs[0])[0]);
}

class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override { TVMVM_SKIP_IF_SANITIZED(); }
};

TEST_F(SandboxTest, KernelsGiveWhatTheyGiveElsewhere) {
  auto program = HostileProgram("plus_seven");
  auto vm = Sandbox(program);
  ASSERT_TRUE(vm);
  auto reference = Vm::Create(program);
  ASSERT_TRUE(reference) << reference.error().message;
  Invocation invocation = (*reference)->NewInvocation();
  for (int64_t round = 0; round < 5; ++round) {
    std::array inputs{Ints({round, 2, 3, 4, 5, 6, 7, -8})};
    std::array outputs{Tensor()}, wanted{Tensor()};
    ASSERT_EQ(TextOf(vm->Run(inputs, outputs)), "");
    ASSERT_EQ(TextOf(invocation.Run(inputs, wanted)), "");
    EXPECT_EQ(ToInts(outputs[0]), ToInts(wanted[0]));
  }
  EXPECT_EQ(vm->starts(), 1);
  EXPECT_EQ(vm->counters().ok, 5);
}

TEST_F(SandboxTest, MemoryOfTheCallersReceivesResults) {
  auto vm = Hostile("plus_seven");
  ASSERT_TRUE(vm);
  std::array inputs{Ints({1, 2, 3, 4, 5, 6, 7, 8})};
  std::array outputs{inputs[0]};  // as one that is donated
  ASSERT_EQ(TextOf(vm->Run(inputs, outputs)), "");
  EXPECT_EQ(outputs[0].data(), inputs[0].data());
  EXPECT_THAT(ToInts(inputs[0]), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  std::array wrong{Ints({1})};
  EXPECT_THAT(TextOf(vm->Run(inputs, wrong)),
              HasSubstr("invalid_argument: output 0: memory for i64[1] given"));
  std::array none{Tensor(), Tensor()};
  EXPECT_THAT(TextOf(vm->Run(inputs, none)), HasSubstr("room for 2 outputs given, the program has 1"));
}

TEST_F(SandboxTest, WrongInputsAreTheRunsErrors) {
  auto vm = Hostile("plus_seven");
  ASSERT_TRUE(vm);
  std::array outputs{Tensor()};
  EXPECT_THAT(TextOf(vm->Run(std::array{Ints({1, 2})}, outputs)),
              HasSubstr("invalid_argument: input 'x': dimension 0 must be 8"));
  EXPECT_THAT(TextOf(vm->Run(std::array<Tensor, 0>{}, outputs)), HasSubstr("0 inputs given"));
  EXPECT_THAT(TextOf(vm->Run(std::array{Tensor::Borrow(DType::kI64, {8}, nullptr)}, outputs)),
              HasSubstr("input 0: its memory is null"));
  EXPECT_THAT(TextOf(vm->Run(std::array{Tensor::Borrow(DType::kI64, {-8}, nullptr)}, outputs)),
              HasSubstr("input 0: its shape is impossible"));
  EXPECT_EQ(Outcome(*vm, {1}), "8");
  EXPECT_EQ(vm->starts(), 1) << "wrong inputs end no process";
  EXPECT_EQ(vm->counters().refused, 4);
  auto failing = Hostile("fail");
  ASSERT_TRUE(failing);
  EXPECT_THAT(Outcome(*failing, {1}), HasSubstr("it failed"));
}

// x and a copy of it, of any shape and element type.
std::string CopyProgram(std::string_view dtype) {
  return "entry @main\nfunc @main(\"x\": " + std::string(dtype) + "[n, 3]) -> (\"y\": " + std::string(dtype) +
         "[n, 3]) frame 4, 1 {\n  return [], [r0]\n}\n";
}

TEST_F(SandboxTest, EveryElementTypeAndShapeComesBack) {
  for (int type = 1; type < kDTypeCount; ++type) {
    const auto dtype = static_cast<DType>(type);
    if (dtype == DType::kString) continue;
    auto program = Assemble(CopyProgram(DTypeName(dtype)));
    ASSERT_TRUE(program) << program.error().message;
    auto vm = Sandbox(*program);
    ASSERT_TRUE(vm);
    for (const int64_t rows : {0, 1, 5, 100'000}) {
      Tensor x = *Tensor::Allocate(dtype, Shape{rows, 3});
      auto bytes = static_cast<uint8_t*>(x.data());
      const int64_t whole = DTypeBits(dtype) * rows * 3 / 8;  // what is behind the last element is zero
      for (int64_t i = 0; i < whole; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + 1);
      std::array outputs{Tensor()};
      ASSERT_EQ(TextOf(vm->Run(std::array{x}, outputs)), "");
      EXPECT_EQ(outputs[0].dtype(), dtype);
      EXPECT_EQ(outputs[0].shape(), x.shape());
      ASSERT_EQ(outputs[0].byte_count(), x.byte_count());
      EXPECT_EQ(std::memcmp(outputs[0].data(), x.data(), static_cast<size_t>(x.byte_count())), 0);
    }
  }
}

TEST_F(SandboxTest, StringsSequencesAndTuplesComeBack) {
  auto program = Assemble(HostProgram(
      R"(("s": string[k], "q": sequence<i64[?]>, "o": optional<f32[2]>) -> ("t": string[k], "q": sequence<i64[?]>, "o": optional<f32[2]>))",
      "return [], [r0, r1, r2]"));
  ASSERT_TRUE(program) << program.error().message;
  auto vm = Sandbox(*program);
  ASSERT_TRUE(vm);
  std::vector<Value> inputs = {Tensor::FromStrings({3}, {"one", "", std::string(100'000, 'x')}),
                               Value::Sequence({Ints({1, 2}), Ints({}), Ints({3})}), Value()};
  std::vector<Value> outputs(3);
  ASSERT_EQ(TextOf(vm->Run(inputs, outputs)), "");
  EXPECT_EQ(outputs[0].tensor().strings(), inputs[0].tensor().strings());
  ASSERT_TRUE(outputs[1].is_sequence());
  ASSERT_EQ(outputs[1].elements().size(), 3u);
  EXPECT_THAT(ToInts(outputs[1].elements()[0].tensor()), ElementsAre(1, 2));
  EXPECT_THAT(ToInts(outputs[1].elements()[2].tensor()), ElementsAre(3));
  EXPECT_TRUE(outputs[2].is_none());
  inputs[2] = Floats({1, 2});
  ASSERT_EQ(TextOf(vm->Run(inputs, outputs)), "");
  EXPECT_THAT(ToFloats(outputs[2].tensor()), ElementsAre(1, 2));
  std::array<Tensor, 3> tensors;
  EXPECT_THAT(TextOf(vm->Run(std::array<Tensor, 3>{}, tensors)), HasSubstr("run the program with values"));
}

// What other libraries do for a program.
TEST_F(SandboxTest, RegularExpressionsAndPicturesAreThere) {
  auto matching = Assemble(HostProgram(R"(("x": string[n], "p": string[1]) -> ("y": bool[n]))",
                                       "[], [r2] = host string.match, [], [r0, r1]\n return [], [r2]"));
  ASSERT_TRUE(matching) << matching.error().message;
  auto vm = Sandbox(*matching);
  ASSERT_TRUE(vm);
  std::array inputs{Tensor::FromStrings({3}, {"aaa", "ab", ""}), Tensor::FromStrings({1}, {"a*"})};
  std::array outputs{Tensor()};
  ASSERT_EQ(TextOf(vm->Run(inputs, outputs)), "");
  const auto matches = static_cast<const uint8_t*>(outputs[0].data());
  EXPECT_THAT(std::vector<int>(matches, matches + 3), ElementsAre(1, 0, 1));

  auto decoding =
      Assemble(HostProgram(R"(("x": u8[n]) -> ("y": u8[h, w, c]))",
                           "i0 = const 0\n [], [r1] = host image.decode, [i0], [r0]\n return [], [r1]"));
  ASSERT_TRUE(decoding) << decoding.error().message;
  vm = Sandbox(*decoding);
  ASSERT_TRUE(vm);
  const std::string_view picture = "P6 2 1 255\nabcdef";
  Tensor bytes = *Tensor::Allocate(DType::kU8, {static_cast<int64_t>(picture.size())});
  std::memcpy(bytes.data(), picture.data(), picture.size());
  outputs[0] = Tensor();
  ASSERT_EQ(TextOf(vm->Run(std::array{bytes}, outputs)), "");
  EXPECT_EQ(outputs[0].shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(std::memcmp(outputs[0].data(), "abcdef", 6), 0);
}

TEST_F(SandboxTest, FilesAreRunAsTheyAre) {
  const std::string path = ::testing::TempDir() + "hostile.vmexe";
  ASSERT_TRUE(SaveProgram(*HostileProgram("plus_seven"), path));
  auto vm = SandboxedVm::Create(path);
  ASSERT_TRUE(vm) << vm.error().message;
  unlink(path.c_str());
  EXPECT_EQ(Outcome(**vm, {1}), "8");
  auto absent = SandboxedVm::Create(path);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kNotFound);
}

TEST_F(SandboxTest, AKernelThatLoopsForEverIsKilledAtItsDeadline) {
  auto vm = Hostile("loop", {.timeout = 500ms});
  ASSERT_TRUE(vm);
  for (int round = 0; round < 3; ++round) {
    const auto begin = Clock::now();
    EXPECT_THAT(Outcome(*vm, {1}), StartsWith("deadline_exceeded: "));
    const auto taken = Clock::now() - begin;
    EXPECT_GE(taken, 500ms);
    EXPECT_LT(taken, 30s);
    EXPECT_EQ(Outcome(*vm, {2}), "2") << "the next run is a new process's";
  }
  EXPECT_EQ(vm->starts(), 4);
  EXPECT_EQ(vm->counters().limited, 3);
  auto patient = Hostile("loop", {.timeout = 1h});
  ASSERT_TRUE(patient);
  const auto begin = Clock::now();
  EXPECT_THAT(Outcome(*patient, {1}, {.deadline = begin + 20ms}), StartsWith("deadline_exceeded: "));
  EXPECT_LT(Clock::now() - begin, 30s);
}

TEST_F(SandboxTest, AKernelThatWritesEverywhereIsACrashOfItsRun) {
  auto vm = Hostile("write_everywhere");
  ASSERT_TRUE(vm);
  for (const int64_t way : {1, -1, 1})
    EXPECT_THAT(Outcome(*vm, {way}), HasSubstr("invalid_program: the sandboxed process crashed: SIG"));
  EXPECT_EQ(vm->counters().failed, 3);
  EXPECT_EQ(vm->starts(), 3);
  auto deep = Hostile("recurse");
  ASSERT_TRUE(deep);
  EXPECT_THAT(Outcome(*deep, {0}), HasSubstr("crashed: SIGSEGV"));
}

TEST_F(SandboxTest, SystemCallsAreRefusedByName) {
  auto vm = Hostile("system_call");
  ASSERT_TRUE(vm);
  struct Case {
    std::vector<int64_t> x;
    const char* name;
  };
  const std::vector<Case> cases = {
      {{SYS_execve, 0, 0, 0, 0, 0, 0, 1}, "'execve'"},
      {{SYS_execveat, -100, 0, 0, 0, 0, 0, 2}, "'execveat'"},
      {{SYS_clone, SIGCHLD}, "'clone'"},
      {{SYS_clone3}, "'clone3'"},
      {{SYS_openat, -100, 0, 0, 0, 0, 0, 2}, "'openat'"},
      {{SYS_newfstatat, -100, 0, 0, 0, 0, 0, 2}, "'newfstatat'"},
      {{SYS_socket, 2, 1}, "'socket'"},
      {{SYS_connect, 3}, "'connect'"},
      {{SYS_sendmsg, 3}, "'sendmsg'"},
      {{SYS_sendto, 1}, "'sendto'"},
      {{SYS_kill, getpid(), SIGKILL}, "'kill'"},
      {{SYS_tgkill, getpid(), getpid(), SIGKILL}, "'tgkill'"},
      {{SYS_ptrace, 16, getpid()}, "'ptrace'"},
      {{SYS_process_vm_writev, getpid()}, "'process_vm_writev'"},
      {{SYS_write, 1}, "'write'"},
      {{SYS_ftruncate, 5, 1 << 30}, "'ftruncate'"},
      {{SYS_mmap, 0, 4096, 3, 0x21, -1}, "'mmap'"},   // shared memory of no file
      {{SYS_mmap, 0, 4096, 3, 0x21, 5}, "'mmap'"},    // the same with the number of the shared one
      {{SYS_mmap, 0, 4096, 3, 0x122, -1}, "'mmap'"},  // a stack
      {{SYS_prctl, 38}, "'prctl'"},
      {{SYS_seccomp, 1}, "'seccomp'"},
      {{SYS_rt_sigaction, SIGSYS}, "'rt_sigaction'"},
      {{SYS_prlimit64}, "'prlimit64'"},
      {{SYS_unshare}, "'unshare'"},
      {{SYS_io_uring_setup}, "'io_uring_setup'"},
      {{SYS_bpf}, "'bpf'"},
      {{9999}, "number 9999"},
#ifdef SYS_open
      {{SYS_open, 0, 0, 0, 0, 0, 0, 1}, "'open'"},
      {{SYS_fork}, "'fork'"},
      {{SYS_vfork}, "'vfork'"},
      {{0x40000000 + SYS_execve}, "number"},  // x32's
#endif
  };
  for (const Case& given : cases) {
    const std::string outcome = Outcome(*vm, given.x);
    EXPECT_THAT(outcome,
                StartsWith("invalid_program: the sandboxed process was ended: it made the system call"));
    EXPECT_THAT(outcome, HasSubstr(given.name));
  }
  EXPECT_EQ(Outcome(*vm, {SYS_getpid}).find("invalid"), std::string::npos) << "what computes goes on";
}

// Of an open file, a copy: no other.
TEST_F(SandboxTest, WhatTheLoaderIsGivenLeadsNowhereElse) {
  auto vm = Hostile("system_call");
  ASSERT_TRUE(vm);
  EXPECT_EQ(Outcome(*vm, {SYS_memfd_create, 0, 0, 0, 0, 0, 0, 1}), "-24")
      << "EMFILE: the loader had its file";
}

TEST_F(SandboxTest, MemoryIsBounded) {
  constexpr int64_t kMost = int64_t{256} << 20;
  auto vm = Hostile("eat_memory", {.max_bytes = kMost});
  ASSERT_TRUE(vm);
  const std::string got = Outcome(*vm, {});
  const int64_t mebibytes = std::atoll(got.c_str());
  EXPECT_GE(mebibytes, 128) << got;
  EXPECT_LE(mebibytes, 256 + 128) << got;
}

// y: i64[n] of ones, where n is x[0], in memory that the Invocation accounts for.
constexpr std::string_view kOnes = R"(
entry @main
func @main("x": i64[1]) -> ("y": i64[?]) frame 3, 2 {
  i0 = const 0
  i1 = load r0, i0, i64
  r1 = output 0, [i1]
  return [], [r1]
}
)";

TEST_F(SandboxTest, OutputsAreAsLargeAsTheLimitAllows) {
  auto program = Assemble(kOnes);
  ASSERT_TRUE(program) << program.error().message;
  constexpr int64_t kMost = int64_t{64} << 20;
  auto vm = Sandbox(*program, {.max_bytes = kMost});
  ASSERT_TRUE(vm);
  for (const int64_t n : {int64_t{1}, int64_t{1} << 20, int64_t{10}, int64_t{1} << 22}) {
    std::array outputs{Tensor()};
    ASSERT_EQ(TextOf(vm->Run(std::array{Ints({n})}, outputs)), "");
    EXPECT_EQ(outputs[0].element_count(), n);
  }
  std::array outputs{Tensor()};
  EXPECT_THAT(TextOf(vm->Run(std::array{Ints({kMost})}, outputs)), StartsWith("out_of_memory: "));
  EXPECT_EQ(vm->starts(), 1) << "an error of the account ends no process";
  auto small = Sandbox(*Assemble(CopyProgram("i64")), {.max_bytes = 1 << 20});
  ASSERT_TRUE(small);
  EXPECT_THAT(TextOf(small->Run(std::array{*Tensor::Allocate(DType::kI64, {1 << 16, 3})}, outputs)),
              HasSubstr("out_of_memory: sandbox: the inputs take"));
}

TEST_F(SandboxTest, CancelEndsARun) {
  auto vm = Hostile("loop");
  ASSERT_TRUE(vm);
  for (int round = 0; round < 3; ++round) {
    std::thread other([&] {
      std::this_thread::sleep_for(50ms);
      vm->Cancel();
    });
    EXPECT_THAT(Outcome(*vm, {1}), StartsWith("cancelled: "));
    other.join();
    EXPECT_EQ(Outcome(*vm, {3}), "3");
  }
  vm->Cancel();
  EXPECT_THAT(Outcome(*vm, {3}), StartsWith("cancelled")) << "the next one";
  EXPECT_EQ(Outcome(*vm, {3}), "3");
  EXPECT_EQ(vm->counters().cancelled, 4);
}

TEST_F(SandboxTest, ATokenEndsItsRunAlone) {
  auto vm = Hostile("loop");
  ASSERT_TRUE(vm);
  auto outcome = [&](int64_t x, const std::stop_token& token) {
    return Outcome(*vm, {x}, {.cancel = token});
  };
  std::stop_source during;
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    during.request_stop();
  });
  EXPECT_EQ(outcome(1, during.get_token()), "cancelled: cancelled: the sandboxed process was killed");
  other.join();
  const int64_t starts = vm->starts();
  EXPECT_EQ(outcome(1, during.get_token()), "cancelled: cancelled") << "nothing is started for it";
  EXPECT_EQ(vm->starts(), starts);
  std::stop_source behind;
  EXPECT_EQ(outcome(3, behind.get_token()), "3");
  behind.request_stop();
  EXPECT_EQ(outcome(3, {}), "3");
  for (int round = 0; round < 30; ++round) {  // at the end of a run, too
    std::stop_source source;
    std::thread races([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
      source.request_stop();
    });
    const std::string text = outcome(3, source.get_token());
    EXPECT_TRUE(text == "3" || text.starts_with("cancelled")) << text;
    races.join();
    EXPECT_EQ(outcome(3, {}), "3") << round;
  }
}

TEST_F(SandboxTest, OneCallerAtATime) {
  auto vm = Hostile("loop");
  ASSERT_TRUE(vm);
  std::thread other([&] {
    std::string outcome;
    do outcome = Outcome(*vm, {1});
    while (outcome.starts_with("invalid_argument"));
    EXPECT_THAT(outcome, StartsWith("cancelled"));
  });
  std::string outcome;
  do outcome = Outcome(*vm, {2});  // until the other one runs
  while (outcome == "2");
  EXPECT_THAT(outcome, StartsWith("invalid_argument: the sandboxed VM is running"));
  vm->Cancel();
  other.join();
}

// The children of this process.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t child; file >> child;) children.push_back(child);
  }
  return children;
}

TEST_F(SandboxTest, AProcessThatIsKilledBetweenRunsIsReplaced) {
  auto vm = Hostile("loop");
  ASSERT_TRUE(vm);
  if (Children().size() != 1) GTEST_SKIP() << "the system does not say which children there are";
  kill(Children()[0], SIGKILL);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(Outcome(*vm, {2}), "2");
  std::thread killer([&] {
    std::this_thread::sleep_for(50ms);
    kill(Children()[0], SIGKILL);
  });
  EXPECT_THAT(Outcome(*vm, {1}), HasSubstr("out_of_memory: the sandboxed process was killed (SIGKILL)"));
  killer.join();
  EXPECT_EQ(Outcome(*vm, {2}), "2");
  vm.reset();
  EXPECT_TRUE(Children().empty());
}

TEST_F(SandboxTest, ItLivesLongerThanTheThreadThatMadeIt) {
  std::unique_ptr<SandboxedVm> vm;
  std::thread([&] { vm = Hostile("loop"); }).join();
  ASSERT_TRUE(vm);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(Outcome(*vm, {2}), "2");
  EXPECT_EQ(vm->starts(), 1);
}

TEST_F(SandboxTest, KernelsThatRunWhenLoadedAreRefused) {
  auto vm = SandboxedVm::Create(HostileProgram("fill", "constructor"));
  ASSERT_FALSE(vm);
  EXPECT_EQ(vm.error().message, "kernel library: it runs code when loaded or unloaded");
  auto absent = SandboxedVm::Create(HostileProgram("no_such_kernel"));
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("no symbol 'no_such_kernel'"));
}

TEST_F(SandboxTest, WithoutARunnerThereIsNone) {
  auto vm = SandboxedVm::Create(HostileProgram("loop"), {.runner = "/nowhere/tvm-vm-runner"});
  ASSERT_FALSE(vm);
  EXPECT_EQ(vm.error().message, "sandbox: there is no runner '/nowhere/tvm-vm-runner'");
}

TEST_F(SandboxTest, WorkersShareALaunch) {
  auto vm = Hostile("plus_seven", {.threads = 3});
  ASSERT_TRUE(vm);
  EXPECT_EQ(Outcome(*vm, {1}), "8");
}

TEST_F(SandboxTest, NonsenseOnTheSocketIsAnErrorOfTheRun) {
  auto vm = Hostile("send_nonsense");
  ASSERT_TRUE(vm);
  for (const int64_t bytes : {0, 1, 1023, 1024, 1025, 4096}) {
    EXPECT_THAT(Outcome(*vm, {bytes, 3, 1}), StartsWith("invalid_program: the sandboxed process")) << bytes;
  }
  EXPECT_THAT(Outcome(*vm, {1024, 3, 100'000}), StartsWith("invalid_program: the sandboxed process"));
}

}  // namespace
}  // namespace tvmvm
