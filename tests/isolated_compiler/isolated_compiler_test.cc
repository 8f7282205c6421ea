// Models compiled in a process of their own: as in this one, but that what goes wrong there is an error here.
#include "tvm-vm/isolated_compiler.h"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/cli/scratch.h"
#include "tests/isolated_compiler/small_models.h"
#include "tests/sanitizer.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string TextOf(const Expected<CompileResult>& result) {
  return result ? "" : std::string(CodeName(result.error().code)) + ": " + result.error().message;
}

class IsolatedCompiler : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    cli::WriteBytes(folder_ / name, bytes);
    return folder_ / name;
  }

  const cli::ScratchFolder folder_;
  const NothingLeft nothing_left_;
};

void ExpectSame(const CompileResult& a, const CompileResult& b) {
  ASSERT_EQ(a.program == nullptr, b.program == nullptr);
  if (a.program != nullptr) {
    EXPECT_EQ(*SerializeProgram(*a.program), *SerializeProgram(*b.program));
  }
  EXPECT_EQ(a.warnings, b.warnings);
  EXPECT_EQ(a.weights.size(), b.weights.size());
  EXPECT_EQ(a.memory.bytes, b.memory.bytes);
  EXPECT_EQ(a.kept_values, b.kept_values);
  EXPECT_EQ(a.schedules, b.schedules);
  EXPECT_EQ(a.work, b.work);
}

TEST_F(IsolatedCompiler, GivesWhatTheCompilerGives) {
  const std::string model = ChainModel(4);
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  options.keep_values = {"v2"};
  options.dims["n"] = {1, 8};
  options.memory_budget = 1 << 20;
  std::vector<std::string> stages[2], printed[2];
  options.print_after = {"all"};
  Expected<CompileResult> results[2];
  const std::string path = Write("chain.onnx", model);
  for (const int isolated : {0, 1}) {
    options.progress = [&, isolated](const std::string& stage, double) { stages[isolated].push_back(stage); };
    options.print = [&, isolated](const std::string& text) { printed[isolated].push_back(text); };
    results[isolated] =
        isolated ? CompileFileIsolated(path, options) : GetCompiler().CompileFile(path, options);
    ASSERT_TRUE(results[isolated]) << results[isolated].error().message;
  }
  ExpectSame(*results[0], *results[1]);
  EXPECT_THAT(results[1]->kept_values, ElementsAre("v2"));
  EXPECT_THAT(results[1]->work, Not(IsEmpty()));
  EXPECT_EQ(stages[0], stages[1]);
  EXPECT_EQ(printed[0], printed[1]);
  EXPECT_FALSE(stages[1].empty() || printed[1].empty());

  auto of_bytes = CompileBytesIsolated(ir::BytesOf(model), options);
  ASSERT_TRUE(of_bytes) << of_bytes.error().message;
  ExpectSame(*GetCompiler().CompileBytes(ir::BytesOf(model), options), *of_bytes);
}

TEST_F(IsolatedCompiler, MayStopBeforeThereIsAProgram) {
  CompileOptions options;
  options.stop_after = "import";
  auto result = CompileBytesIsolated(ir::BytesOf(ChainModel(2)), options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->program, nullptr);
}

TEST_F(IsolatedCompiler, GivesTheCompilersErrors) {
  const std::string good = ChainModel(2);
  CompileOptions unknown_pass;
  unknown_pass.print_after = {"no such pass"};
  ir::GraphText graph;
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"n"})};
  graph.nodes = {{"NoSuchOperator", {"x"}, {"y"}}, {"NorThis", {"y"}, {"z"}}};
  graph.outputs = {ir::ValueMessage("z", ir::kOnnxFloat, {"n"})};
  for (const std::string& model : {good.substr(0, 40), std::string("text"), ir::ModelMessage(graph), good}) {
    const auto here = GetCompiler().CompileBytes(ir::BytesOf(model), unknown_pass);
    EXPECT_EQ(TextOf(CompileBytesIsolated(ir::BytesOf(model), unknown_pass)), TextOf(here));
    const auto plain = GetCompiler().CompileBytes(ir::BytesOf(model), {});
    EXPECT_EQ(TextOf(CompileBytesIsolated(ir::BytesOf(model))), TextOf(plain));
  }
  EXPECT_EQ(TextOf(CompileFileIsolated("/absent.onnx")),
            TextOf(GetCompiler().CompileFile("/absent.onnx", {})));
}

TEST_F(IsolatedCompiler, ReadsExternalDataBeneathTheModelsFolder) {
  Write("w.bin", std::string(16 * 4, '\0'));
  const auto entry = [](const std::string& key, const std::string& value) {
    return ir::Message([&](auto& w) {
      w.add_string(1, key);
      w.add_string(2, value);
    });
  };
  ir::GraphText graph;
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"n", int64_t{16}})};
  graph.nodes = {{"Add", {"x", "w"}, {"y"}}};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxFloat, {"n", int64_t{16}})};
  graph.initializers = {ir::Message([&](auto& w) {
    w.add_int64(1, 16);
    w.add_int32(2, ir::kOnnxFloat);
    w.add_string(8, "w");
    w.add_message(13, entry("location", "w.bin"));
    w.add_int32(14, 1);
  })};
  const std::string path = Write("external.onnx", ir::ModelMessage(graph));
  auto result = CompileFileIsolated(path);
  ASSERT_TRUE(result) << result.error().message;
  ExpectSame(*GetCompiler().CompileFile(path, {}), *result);
}

std::string NoMemory(const std::string& model, int64_t max_bytes) {
  return fmt::format(
      "out_of_memory: compiling a model of {} bytes: the compiler's process has no memory left: its limit is "
      "{} bytes",
      model.size(), max_bytes);
}

TEST_F(IsolatedCompiler, MemoryBeyondTheLimitIsAnError) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes more than any limit";
  const std::string model = ProductModel(2048);  // whose weights are packed: 16 MB
  for (const int64_t max_bytes : {1 << 12, 16 << 20})
    EXPECT_EQ(TextOf(CompileBytesIsolated(ir::BytesOf(model), {}, {.max_bytes = max_bytes})),
              NoMemory(model, max_bytes));
  EXPECT_EQ(TextOf(CompileBytesIsolated(ir::BytesOf(model), {}, {.max_bytes = int64_t{2} << 30})), "");
}

// Wherever memory ends: in the compiler, in LLVM, in the linker, where a thread is started.
TEST_F(IsolatedCompiler, MemoryMayEndAnywhere) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes more than any limit";
  const std::string model = ChainModel(40);
  int failures = 0;
  bool passes = false;
  for (int64_t max_bytes = 1 << 18; max_bytes < 64 << 20 && !passes; max_bytes = max_bytes * 5 / 4) {
    const std::string outcome =
        TextOf(CompileBytesIsolated(ir::BytesOf(model), {}, {.max_bytes = max_bytes}));
    passes = outcome.empty();
    if (passes) continue;
    ++failures;
    EXPECT_EQ(outcome, NoMemory(model, max_bytes));
  }
  EXPECT_TRUE(passes);
  EXPECT_GT(failures, 5);
}

TEST_F(IsolatedCompiler, TimeBeyondTheLimitIsAnError) {
  CompileOptions options;
  options.model_name = "slow";
  const auto begin = std::chrono::steady_clock::now();
  auto result = CompileBytesIsolated(ir::BytesOf(ChainModel(1000)), options, {.timeout = 30ms});
  EXPECT_EQ(TextOf(result),
            "deadline_exceeded: compiling 'slow': the time is over: the compiler's process was killed");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kHang);
}

TEST_F(IsolatedCompiler, CancelEndsACall) {
  const std::string path = Write("long.onnx", ChainModel(1000));
  std::stop_source before;
  before.request_stop();
  const std::string cancelled =
      "cancelled: compiling '" + path + "': cancelled: the compiler's process was killed";
  EXPECT_EQ(TextOf(CompileFileIsolated(path, {}, {.cancel = before.get_token()})), cancelled);
  std::stop_source meanwhile;
  std::jthread other([&] {
    std::this_thread::sleep_for(30ms);
    meanwhile.request_stop();
  });
  EXPECT_EQ(TextOf(CompileFileIsolated(path, {}, {.cancel = meanwhile.get_token()})), cancelled);
  std::stop_source from_callback;
  CompileOptions options;
  options.progress = [&](const std::string&, double) { from_callback.request_stop(); };
  EXPECT_EQ(TextOf(CompileFileIsolated(path, options, {.cancel = from_callback.get_token()})), cancelled);
}

TEST_F(IsolatedCompiler, ManyCallAtOnce) {
  const std::string model = ChainModel(3);
  const auto here = GetCompiler().CompileBytes(ir::BytesOf(model), {});
  ASSERT_TRUE(here);
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&, i] {
      if (i % 2 == 0) {
        EXPECT_THAT(TextOf(CompileBytesIsolated(ir::BytesOf(model), {}, {.timeout = 1ns})),
                    HasSubstr("deadline_exceeded"));
      }
      auto result = CompileBytesIsolated(ir::BytesOf(model));
      ASSERT_TRUE(result) << result.error().message;
      ExpectSame(*here, *result);
    });
}

TEST_F(IsolatedCompiler, SignalsOfChildrenMayBeIgnoredOrHandled) {
  static std::atomic<int> handled{0};
  for (const sighandler_t handler : {SIG_IGN, sighandler_t([](int) { ++handled; })}) {
    const sighandler_t before = signal(SIGCHLD, handler);
    auto result = CompileBytesIsolated(ir::BytesOf(ChainModel(2)));
    auto wrong = CompileBytesIsolated(ir::BytesOf("nonsense"));
    signal(SIGCHLD, before);
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_THAT(TextOf(wrong), HasSubstr("invalid_argument"));
  }
}

TEST_F(IsolatedCompiler, WithoutItsRunnerThereIsNone) {
  EXPECT_EQ(TextOf(CompileBytesIsolated({}, {}, {.runner = "/absent"})),
            "not_found: isolated compiler: there is no runner '/absent'");
}

}  // namespace
}  // namespace tvmvm
