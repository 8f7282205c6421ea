// SandboxedVm through the C interface.
#include "tvm-vm/c_sandbox.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "tests/folders.h"
#include "tests/sandbox/hostile_program.h"
#include "tests/vm/c_api_calls.h"
#include "tests/vm/host_program.h"
#include "vm/c/objects.h"

extern "C" int tvmvm_test_sandbox_in_c(const char* path, const char* runner);

namespace {

// The allocations of this thread that succeed yet; below 0: all do.
thread_local int64_t left = -1;
thread_local bool has_failed = false;

void* AllocateOrNull(std::size_t size) noexcept {
  if (left == 0) {
    has_failed = true;
    return nullptr;
  }
  if (left > 0) --left;
  return std::malloc(size > 0 ? size : 1);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = AllocateOrNull(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::HasSubstr;

// A sandboxed VM of the tests' hostile kernels: x: i64[8] -> y: i64[8].
class CSandbox {
 public:
  explicit CSandbox(const std::string& kernel, const tvmvm_sandbox_options* options = nullptr)
      : program_{HostileProgram(kernel)} {
    EXPECT_EQ(Take(tvmvm_sandboxed_vm_create_from_program(&program_, options, &vm)), "");
  }
  ~CSandbox() { tvmvm_sandboxed_vm_free(vm); }
  CSandbox(const CSandbox&) = delete;
  CSandbox& operator=(const CSandbox&) = delete;

  // "code: message" of a run; `y` is the first number of the result where all is well.
  std::string Run(int64_t x, const tvmvm_run_options* options = nullptr) {
    int64_t numbers[8] = {x};
    tvmvm_tensor input{Tensor::Borrow(DType::kI64, {8}, numbers)};
    const tvmvm_tensor* inputs[] = {&input};
    tvmvm_tensor* outputs[] = {nullptr};
    tvmvm_status* status = tvmvm_sandboxed_vm_run(vm, options, inputs, 1, outputs, 1);
    std::string text = status == nullptr ? "" : std::to_string(tvmvm_status_code(status)) + ": ";
    text += Take(status);
    if (outputs[0] != nullptr) y = *static_cast<const int64_t*>(tvmvm_tensor_data(outputs[0]));
    tvmvm_tensor_free(outputs[0]);
    return text;
  }

  tvmvm_sandboxed_vm* vm = nullptr;
  int64_t y = 0;

 private:
  tvmvm_program program_;
};

tvmvm_sandbox_options Options() {
  tvmvm_sandbox_options options = {};
  options.size = sizeof options;
  return options;
}

class CSandboxTest : public ::testing::Test {
 protected:
  void SetUp() override { TVMVM_SKIP_IF_SANITIZED(); }
};

TEST_F(CSandboxTest, ServesAProgramInC) {
  const std::string path = ::testing::TempDir() + "c_sandbox.vmexe";
  ASSERT_TRUE(SaveProgram(*HostileProgram("plus_seven"), path));
  EXPECT_EQ(tvmvm_test_sandbox_in_c(path.c_str(), nullptr), 0);
  EXPECT_EQ(tvmvm_test_sandbox_in_c(path.c_str(), BuildPath("tvm-vm-runner").c_str()), 0);
  EXPECT_EQ(tvmvm_test_sandbox_in_c(path.c_str(), "/absent"), 1);
  std::remove(path.c_str());
}

TEST_F(CSandboxTest, EndsOfTheProcessAreErrorsOfTheRun) {
  tvmvm_sandbox_options options = Options();
  options.timeout_ns = 50'000'000;
  CSandbox loops("loop", &options);
  EXPECT_THAT(loops.Run(1), HasSubstr("6: "));  // TVMVM_DEADLINE_EXCEEDED
  EXPECT_EQ(loops.Run(2), "") << "the next run is a new process's";
  EXPECT_EQ(loops.y, 2);
  EXPECT_EQ(tvmvm_sandboxed_vm_starts(loops.vm), 2);
  CSandbox crashes("write_everywhere");
  EXPECT_THAT(crashes.Run(1), HasSubstr("2: the sandboxed process crashed: SIG"));
  tvmvm_run_counters counters = {};
  counters.size = sizeof counters;
  ASSERT_EQ(Take(tvmvm_sandboxed_vm_get_counters(crashes.vm, &counters)), "");
  EXPECT_EQ(counters.failed, 1);
}

TEST_F(CSandboxTest, RunsHaveDeadlinesOfTheirOwn) {
  CSandbox loops("loop");
  tvmvm_run_options options = {};
  options.size = sizeof options;
  options.timeout_ns = 20'000'000;
  EXPECT_THAT(loops.Run(1, &options), HasSubstr("6: "));
  options.timeout_ns = INT64_MAX;
  EXPECT_EQ(loops.Run(3, &options), "");
}

TEST_F(CSandboxTest, AnotherThreadCancelsAndMayNotRun) {
  CSandbox loops("loop");
  std::string first;
  std::thread runs([&] {
    do first = loops.Run(1);
    while (first.find("another thread") != std::string::npos);  // refused while the other one is at it
  });
  std::string second;
  while ((second = loops.Run(2)).empty()) std::this_thread::yield();
  EXPECT_EQ(second, "1: the sandboxed VM is running: another thread runs it");
  tvmvm_sandboxed_vm_cancel(loops.vm);
  runs.join();
  EXPECT_THAT(first, HasSubstr("7: cancelled"));
  EXPECT_EQ(loops.Run(2), "");
}

// Sequences, optionals without element, and memory of the caller's.
TEST_F(CSandboxTest, ValuesComeBack) {
  auto program = Assemble(HostProgram(
      R"(("s": sequence<i64[?]>, "o": optional<i64[?]>) -> ("t": sequence<i64[?]>, "p": optional<i64[?]>))",
      "return [], [r0, r1]"));
  ASSERT_TRUE(program) << program.error().message;
  tvmvm_program object{*program};
  tvmvm_sandboxed_vm* vm = nullptr;
  ASSERT_EQ(Take(tvmvm_sandboxed_vm_create_from_program(&object, nullptr, &vm)), "");
  tvmvm_value tensor{Ints({1, 2, 3})};
  const tvmvm_value* elements[] = {&tensor, &tensor};
  tvmvm_value* sequence = nullptr;
  ASSERT_EQ(Take(tvmvm_value_from_elements(elements, 2, &sequence)), "");
  const tvmvm_value* inputs[] = {sequence, nullptr};
  tvmvm_value* outputs[] = {nullptr, nullptr};
  ASSERT_EQ(Take(tvmvm_sandboxed_vm_run_values(vm, nullptr, inputs, 2, outputs, 2)), "");
  EXPECT_EQ(tvmvm_value_size(outputs[0]), 2u);
  EXPECT_EQ(tvmvm_value_kind(outputs[1]), TVMVM_NOTHING);
  tvmvm_value* given[] = {outputs[0], nullptr};
  EXPECT_THAT(Take(tvmvm_sandboxed_vm_run_values(vm, nullptr, inputs, 2, given, 2)),
              HasSubstr("only a tensor can receive a result"));
  for (tvmvm_value* output : outputs) tvmvm_value_free(output);
  tvmvm_value_free(sequence);
  tvmvm_sandboxed_vm_free(vm);
}

TEST_F(CSandboxTest, NullIsAnswered) {
  tvmvm_sandboxed_vm* vm = nullptr;
  tvmvm_program* program = nullptr;
  tvmvm_run_counters counters = {};
  counters.size = sizeof counters;
  CSandbox session("plus_seven");
  const Calls calls = {
      REFUSES(tvmvm_sandboxed_vm_create, nullptr, nullptr, &vm),
      REFUSES(tvmvm_sandboxed_vm_create, "a", nullptr, nullptr),
      REFUSES(tvmvm_sandboxed_vm_create_from_program, nullptr, nullptr, &vm),
      REFUSES(tvmvm_sandboxed_vm_create_from_program, nullptr, nullptr, nullptr),
      RETURNS(tvmvm_sandboxed_vm_free, nullptr),
      REFUSES(tvmvm_sandboxed_vm_program, nullptr, &program),
      REFUSES(tvmvm_sandboxed_vm_program, session.vm, nullptr),
      REFUSES(tvmvm_sandboxed_vm_run, nullptr, nullptr, nullptr, 0, nullptr, 0),
      REFUSES(tvmvm_sandboxed_vm_run, session.vm, nullptr, nullptr, 1, nullptr, 1),
      REFUSES(tvmvm_sandboxed_vm_run_values, nullptr, nullptr, nullptr, 0, nullptr, 0),
      REFUSES(tvmvm_sandboxed_vm_run_values, session.vm, nullptr, nullptr, 1, nullptr, 1),
      RETURNS(tvmvm_sandboxed_vm_cancel, nullptr),
      REFUSES(tvmvm_sandboxed_vm_get_counters, nullptr, &counters),
      REFUSES(tvmvm_sandboxed_vm_get_counters, session.vm, nullptr),
      ANSWERS(tvmvm_sandboxed_vm_starts, 0, nullptr),
  };
  ExpectAll(calls);
  ExpectNoneIsMissing(calls, "c_sandbox.h");
  // Null in place of a tensor is one without memory, which no input is.
  const tvmvm_tensor* inputs[] = {nullptr};
  tvmvm_tensor* outputs[] = {nullptr};
  EXPECT_NE(Take(tvmvm_sandboxed_vm_run(session.vm, nullptr, inputs, 1, outputs, 1)), "");
  EXPECT_EQ(outputs[0], nullptr);
}

TEST_F(CSandboxTest, OptionsMayBeOlderAndNewerButNotNegative) {
  tvmvm_program program{HostileProgram("plus_seven")};
  const auto create = [&](const tvmvm_sandbox_options* options) {
    tvmvm_sandboxed_vm* vm = nullptr;
    tvmvm_status* status = tvmvm_sandboxed_vm_create_from_program(&program, options, &vm);
    tvmvm_sandboxed_vm_free(vm);
    return status;
  };
  const auto message = [&](const tvmvm_sandbox_options* options) { return Take(create(options)); };
  ExpectTolerant<tvmvm_sandbox_options>("options", sizeof(tvmvm_sandbox_options), message);
  ExpectRefusesUnknown<tvmvm_sandbox_options>("sandbox options", message);
  ExpectNotNegative(&tvmvm_sandbox_options::max_bytes, "options.max_bytes", create);
  ExpectNotNegative(&tvmvm_sandbox_options::timeout_ns, "options.timeout_ns", create);
  ExpectNotNegative(&tvmvm_sandbox_options::threads, "options.threads", create);
  ExpectNotNegative(&tvmvm_sandbox_options::max_call_depth, "options.max_call_depth", create);
  ExpectNotNegative(&tvmvm_sandbox_options::max_steps, "options.max_steps", create);
  ExpectNotNegative(&tvmvm_sandbox_options::start_timeout_ns, "options.start_timeout_ns", create);
  tvmvm_sandbox_options largest = Options();
  largest.max_bytes = largest.timeout_ns = largest.max_steps = largest.start_timeout_ns = INT64_MAX;
  EXPECT_EQ(message(&largest), "");
  CSandbox session("plus_seven");
  ExpectTolerant<tvmvm_run_counters>("counters", sizeof(tvmvm_run_counters), [&](tvmvm_run_counters* to) {
    return Take(tvmvm_sandboxed_vm_get_counters(session.vm, to));
  });
}

// Whichever allocation of the caller's thread fails, alone or with all behind it: a status, and it goes on
// afterwards.
TEST_F(CSandboxTest, MissingMemoryIsAnError) {
  const std::string path = ::testing::TempDir() + "c_sandbox_memory.vmexe";
  ASSERT_TRUE(SaveProgram(*HostileProgram("plus_seven"), path));
  int64_t numbers[8] = {35};
  tvmvm_tensor input{Tensor::Borrow(DType::kI64, {8}, numbers)};
  const tvmvm_tensor* inputs[] = {&input};
  const auto attempt = [&](tvmvm_code* code) {
    tvmvm_sandboxed_vm* vm = nullptr;
    tvmvm_tensor* outputs[] = {nullptr};
    tvmvm_status* status = tvmvm_sandboxed_vm_create(path.c_str(), nullptr, &vm);
    if (status == nullptr) status = tvmvm_sandboxed_vm_run(vm, nullptr, inputs, 1, outputs, 1);
    *code = tvmvm_status_code(status);
    tvmvm_status_free(status);
    tvmvm_tensor_free(outputs[0]);
    tvmvm_sandboxed_vm_free(vm);
  };
  int64_t number = 0;
  for (bool failed = true; failed; ++number) {
    ASSERT_LT(number, 10'000);
    tvmvm_code code = TVMVM_OK;
    has_failed = false;
    left = number;
    attempt(&code);
    left = -1;
    failed = has_failed;
    EXPECT_EQ(code, failed ? TVMVM_OUT_OF_MEMORY : TVMVM_OK) << "allocation " << number;
  }
  EXPECT_GT(number, 20);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tvmvm
