// The tool from outside: exit codes, messages, what it writes and what it leaves alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/expect_tool.h"
#include "tests/cli/scratch.h"
#include "tests/require.h"

namespace tvmvm::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kCommands[] = {"compile", "run",  "bench",   "plan",       "test",   "inspect",
                                     "disasm",  "asm",  "verify",  "ops",        "keygen", "sign",
                                     "devices", "warm", "version", "completion", "man"};

TEST(UsageTest, HelpNamesEveryCommandAndTheExitCodes) {
  ToolResult result = RunShell("tvm-vm --help");
  EXPECT_EQ(result.exit_code, kExitOk);
  EXPECT_THAT(result.out, HasSubstr("Exit codes: 0 fine"));
  for (const char* command : kCommands) EXPECT_THAT(result.out, HasSubstr(command));
}

TEST(UsageTest, EveryCommandHasExamples) {
  for (std::string command : kCommands) {
    ToolResult result = RunShell("tvm-vm " + command + " --help");
    EXPECT_EQ(result.exit_code, kExitOk);
    EXPECT_THAT(result.out, HasSubstr("Examples:\n  tvm-vm " + command));
  }
}

TEST(UsageTest, WrongCommandLines) {
  ExpectUsageError("tvm-vm", "subcommand is required");
  ExpectUsageError("tvm-vm nonsense", "nonsense");
  ExpectUsageError("tvm-vm run", "model is required");
  ExpectUsageError("tvm-vm run a.vmexe --nonsense", "--nonsense");
  ExpectUsageError("tvm-vm compile -", "--output is required");
  ExpectUsageError("tvm-vm comple a.onnx", "'comple' is no command (did you mean 'compile'?)");
  ExpectUsageError("tvm-vm run a.vmexe --output-dri x", "did you mean '--output-dir'?");
  ExpectUsageError("tvm-vm run a.vmexe --dim n=1 --dim n=2", "'n' is given twice");
  ExpectUsageError("tvm-vm run a.vmexe --rtol 1", "--expect");
  ExpectUsageError("tvm-vm run a.vmexe --input x=random:4:9..2", "a range is LO..HI with LO < HI");
  ExpectUsageError("tvm-vm bench a.vmexe --clients 0", "--clients");
  ExpectUsageError("tvm-vm bench a.vmexe --shapes s --trace t", "--trace");
  ExpectUsageError("tvm-vm compile a.onnx -o b --dim n=5..4",
                   "'n=5..4': a dimension is given as NAME=N or NAME=LO..HI");
  ExpectUsageError("tvm-vm compile a.onnx -o b --device toaster", "toaster");
  ExpectUsageError("tvm-vm compile a.onnx -o b --precision fp8", "fp8");
  ExpectUsageError("tvm-vm run a.vmexe --dim n=1..4", "one number is wanted here");
  ExpectUsageError("tvm-vm run a.vmexe --input x=random:4y4", "as in random:4x128");
  ExpectUsageError("tvm-vm run a.onnx --dump all", "--output-dir");
  ExpectUsageError("tvm-vm bench a.vmexe --seconds 1 --repeat 2", "--repeat");
  ExpectUsageError("tvm-vm bench a.vmexe --seconds -1", "--seconds");
  ExpectUsageError("tvm-vm bench a.vmexe --measure", "--profile");
  for (const char* seconds : {"0", "-1", "1e12", "nan", "inf", "soon"})
    ExpectUsageError(std::string("tvm-vm run a.vmexe --timeout ") + seconds, "--timeout");
}

TEST(UsageTest, Version) {
  for (const char* command : {"tvm-vm --version", "tvm-vm -V", "tvm-vm version"})
    EXPECT_THAT(RunShell(command).out, StartsWith("tvm-vm 0.")) << command;
  EXPECT_TRUE(nlohmann::json::parse(RunShell("tvm-vm version --json").out).contains("file_format"));
}

TEST(UsageTest, HelpIsACommand) {
  EXPECT_EQ(RunShell("tvm-vm help").out, RunShell("tvm-vm --help").out);
  EXPECT_EQ(RunShell("tvm-vm help run").out, RunShell("tvm-vm run --help").out);
}

TEST(UsageTest, ErrorsAreJsonWhereMachinesRead) {
  ToolResult result = RunShell("tvm-vm run /nowhere/a.vmexe --json");
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_EQ(nlohmann::json::parse(result.out)["error"]["code"], "not_found");
}

TEST(BadFileTest, MissingFiles) {
  for (std::string command : {"run", "bench", "inspect", "disasm", "verify"})
    ExpectFailure("tvm-vm " + command + " /nowhere/a.vmexe", "/nowhere/a.vmexe");
  ExpectFailure("tvm-vm asm /nowhere/a.vmasm -o /nowhere/b.vmexe", "/nowhere/a.vmasm");
  ExpectFailure("tvm-vm test /nowhere/tests", "no such folder: '/nowhere/tests'");
  ScratchFolder scratch;
  ExpectFailure("tvm-vm test '" + scratch.path() + "'", "holds no test");
}

TEST(BadFileTest, WhatIsNoProgram) {
  ScratchFolder scratch;
  WriteBytes(scratch / "empty.vmexe", "");
  WriteBytes(scratch / "text.vmexe", std::string(10000, 'x'));
  for (std::string file : {"empty.vmexe", "text.vmexe"})
    for (std::string command : {"run", "bench", "inspect", "disasm", "verify"})
      ExpectFailure("tvm-vm " + command + " '" + (scratch / file) + "'", file);
}

TEST(BadFileTest, WhatIsNoModel) {
  if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  ExpectFailure("tvm-vm compile /nowhere/a.onnx -o /nowhere/b.vmexe", "/nowhere/a.onnx");
  ScratchFolder scratch;
  WriteBytes(scratch / "text.onnx", std::string(10000, 'x'));
  ExpectFailure("tvm-vm compile '" + (scratch / "text.onnx") + "' -o '" + (scratch / "out.vmexe") + "'",
                "text.onnx");
  EXPECT_THAT(scratch.Names(), ElementsAre("text.onnx"));
}

TEST(BadFileTest, AssemblyErrorsSayWhere) {
  ScratchFolder scratch;
  WriteBytes(scratch / "a.vmasm", "func @main() {\n  nonsense i0\n}\n");
  ExpectFailure("tvm-vm asm '" + (scratch / "a.vmasm") + "' -o '" + (scratch / "a.vmexe") + "'",
                "a.vmasm': ");
  EXPECT_THAT(scratch.Names(), ElementsAre("a.vmasm"));
}

// Everything below runs the demo model, x[batch, length, 64] -> y of the same shape.
class DemoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  }
  static void SetUpTestSuite() {
    if (!TVMVM_HAS_COMPILER) return;
    folder_ = new ScratchFolder;
    std::string make = std::string(TVMVM_BINARY_DIR) + "/make_demo_model";
    ToolResult result = RunShell("'" + make + "' '" + Onnx() + "' && tvm-vm compile '" + Onnx() + "' -o '" +
                                 Vmexe() + "' --json");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    compile_output_ = result.out;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string Onnx() { return *folder_ / "demo.onnx"; }
  static std::string Vmexe() { return *folder_ / "demo.vmexe"; }
  // Runs the tool in `scratch_` with the demo files at hand as $onnx and $vmexe.
  ToolResult Run(const std::string& command) const { return RunShell(InScratch(command)); }
  std::string InScratch(const std::string& command) const {
    return "cd '" + scratch_.path() + "'; onnx='" + Onnx() + "'; vmexe='" + Vmexe() + "'; " + command;
  }
  void ExpectFails(const std::string& command, const std::string& message) const {
    ExpectFailure(InScratch(command), message);
  }

  ScratchFolder scratch_;
  static ScratchFolder* folder_;
  static std::string compile_output_;
};
ScratchFolder* DemoTest::folder_ = nullptr;
std::string DemoTest::compile_output_;

TEST_F(DemoTest, CompileReportsWhatItWrote) {
  nlohmann::json json = nlohmann::json::parse(compile_output_);
  EXPECT_EQ(json["output"], Vmexe());
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(Vmexe()));
  EXPECT_THAT(folder_->Names(), ::testing::UnorderedElementsAre("demo.onnx", "demo.vmexe"));
}

TEST_F(DemoTest, OneFileRunsAtEveryShape) {
  for (std::string shape : {"1x1x64", "3x7x64", "2x33x64"}) {
    ToolResult result = Run("tvm-vm run $vmexe --input x=random:" + shape + " --json");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    nlohmann::json output = nlohmann::json::parse(result.out)["outputs"][0];
    EXPECT_EQ(output["name"], "y");
    EXPECT_EQ(output["dtype"], "f32");
    std::string dims;
    for (int64_t dim : output["shape"]) dims += (dims.empty() ? "" : "x") + std::to_string(dim);
    EXPECT_EQ(dims, shape);
  }
}

TEST_F(DemoTest, RunShowsTheOutputs) {
  ToolResult result = Run("tvm-vm run $vmexe --dim batch=2 --dim length=5");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("y: f32[2, 5, 64] ["));
  EXPECT_THAT(result.err, HasSubstr("peak memory"));
}

TEST_F(DemoTest, OutputsCanBeWrittenAndExpected) {
  ToolResult first =
      Run("tvm-vm run $vmexe --dim length=5 --output-dir out/deep && tvm-vm run $onnx --dim length=5 "
          "--expect y=out/deep/y.npy");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  ToolResult other = Run("tvm-vm run $vmexe --dim length=5 --seed 9 --expect y=out/deep/y.npy");
  EXPECT_EQ(other.exit_code, kExitFailed);
  EXPECT_THAT(other.err, HasSubstr("output 'y': "));
  EXPECT_THAT(other.err, HasSubstr("elements differ, worst at ["));
  EXPECT_EQ(Run("tvm-vm run $vmexe --dim length=5 --seed 9 --expect y=out/deep/y.npy --atol 100").exit_code,
            0);
  ExpectFails("tvm-vm run $vmexe --expect z=out/deep/y.npy",
              "the model has no output 'z'; its outputs are: y");
}

TEST_F(DemoTest, WrongInputs) {
  ASSERT_EQ(Run("tvm-vm run $vmexe --dim batch=2 --dim length=5 --output-dir out").exit_code, 0);
  EXPECT_EQ(Run("tvm-vm run $vmexe --input out/y.npy").exit_code, 0);
  EXPECT_EQ(Run("tvm-vm run $vmexe --input x=out/y.npy").exit_code, 0);
  ExpectFails("tvm-vm run $vmexe --input x=random:2x5", "x");
  ExpectFails("tvm-vm run $vmexe --input x=random:2x5x63", "63");
  ExpectFails("tvm-vm run $vmexe --input z=random:2x5x64", "no input 'z'");
  ExpectFails("tvm-vm run $vmexe --input out/y.npy --input out/y.npy",
              "2 inputs are given, the model takes 1");
  ExpectFails("tvm-vm run $vmexe --input nothing.npy", "nothing.npy': No such file");
  ExpectFails("tvm-vm run $vmexe --dim breadth=2", "no dimension named 'breadth'");
  ExpectFails("head -c 200 out/y.npy >cut.npy; tvm-vm run $vmexe --input cut.npy", "cut.npy");
}

TEST_F(DemoTest, Precision) {
  ExpectFails("tvm-vm run $vmexe --precision fp16", "the precision is chosen where a model is compiled");
  ToolResult result = Run("tvm-vm compile $onnx -o half.vmexe --device null,cpu --precision fp16");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Run("tvm-vm inspect half.vmexe").out, HasSubstr("--precision fp16"));
  EXPECT_THAT(Run("tvm-vm run $onnx --precision fp16").err, HasSubstr("is for GPUs"));
}

TEST_F(DemoTest, FullDisks) {
  ExpectFails("tvm-vm run $vmexe --output-dir /dev/full/x", "/dev/full/x");
  ExpectFails("tvm-vm inspect $vmexe >/dev/full", "standard output");
  ExpectFails("tvm-vm compile $onnx -o /dev/full", "/dev/full': No space left on device");
  ExpectFails("tvm-vm compile $onnx -o none/a.vmexe", "none/a.vmexe");
  EXPECT_THAT(scratch_.Names(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(DemoTest, DamagedPrograms) {
  std::string whole = ReadBytes(Vmexe());
  for (size_t cut : {size_t{1}, whole.size() / 4, whole.size() / 2, whole.size() - 1}) {
    WriteBytes(scratch_ / "cut.vmexe", whole.substr(0, cut));
    ExpectFails("tvm-vm verify cut.vmexe", "cut.vmexe");
  }
  EXPECT_EQ(Run("tvm-vm verify $vmexe").exit_code, 0);
  for (size_t at = 5; at < whole.size(); at += whole.size() / 23) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    if (flipped == whole) continue;
    WriteBytes(scratch_ / "flipped.vmexe", flipped);
    ToolResult result = Run("tvm-vm verify flipped.vmexe");
    EXPECT_LE(result.exit_code, kExitFailed)
        << "byte " << at;  // a flip in padding may pass; nothing may crash
    EXPECT_LE(Run("tvm-vm run flipped.vmexe").exit_code, kExitFailed) << "byte " << at;
  }
}

TEST_F(DemoTest, DamagedModels) {
  std::string whole = ReadBytes(Onnx());
  for (size_t cut : {size_t{1}, whole.size() / 2, whole.size() - 1}) {
    WriteBytes(scratch_ / "cut.onnx", whole.substr(0, cut));
    ExpectFails("tvm-vm compile cut.onnx -o out.vmexe", "cut.onnx");
  }
  EXPECT_THAT(scratch_.Names(), ElementsAre("cut.onnx"));
}

TEST_F(DemoTest, BenchReportsItsNumbers) {
  ToolResult result = Run("tvm-vm bench $vmexe --dim length=4 --repeat 5 --threads 1 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["runs"], 5);
  for (const char* key : {"first_ms", "best_ms", "median_ms", "p99_ms", "load_ms", "peak_bytes", "mean_ms",
                          "p95_ms", "max_ms", "runs_per_second", "threads", "clients"})
    EXPECT_GT(json[key], 0) << key;
  EXPECT_EQ(json["devices"][0]["name"], "cpu");
  EXPECT_LE(json["best_ms"], json["median_ms"]);
  EXPECT_LE(json["median_ms"], json["p99_ms"]);
}

TEST_F(DemoTest, BenchSaysWhatItTimed) {
  ToolResult result = Run("tvm-vm bench $vmexe --dim length=4 --repeat 5 --threads 1");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"x: f32[1, 4, 64]", "1 thread, 1 client, 1 run to warm up", "5 runs: mean ",
                           "deviation ", "runs/s", "p95 ", "max ", "of too few runs"})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_THAT(result.err, HasSubstr("assumed for inputs that are made: batch = 1"));
}

TEST_F(DemoTest, BenchTimesManyShapesAndClients) {
  WriteBytes(scratch_ / "shapes.txt", "batch=1 length=3  # short\n\nx=random:2x5x64\n");
  ToolResult table = Run("tvm-vm bench $vmexe --shapes shapes.txt --repeat 3 --times times.csv");
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("batch=1 length=3 "));
  EXPECT_THAT(table.out, HasSubstr("x=random:2x5x64 "));
  const std::string times = ReadBytes(scratch_ / "times.csv");
  EXPECT_EQ(std::ranges::count(times, '\n'), 1 + 3 + 3);
  EXPECT_THAT(times, StartsWith("shape,client,run,ms\nbatch=1 length=3,0,0,"));
  WriteBytes(scratch_ / "bad.txt", "batch=1\nbatch=x\n");
  ExpectFails("tvm-vm bench $vmexe --shapes bad.txt", "'bad.txt': line 2: ");

  ToolResult clients = Run("tvm-vm bench $vmexe --clients 3 --repeat 4 --threads 1 --json");
  ASSERT_EQ(clients.exit_code, 0) << clients.err;
  nlohmann::json json = nlohmann::json::parse(clients.out);
  EXPECT_EQ(json["clients"], 3);
  EXPECT_EQ(json["runs"], 12);
}

TEST_F(DemoTest, ModelsAreReadFromAndWrittenToPipes) {
  ToolResult result = Run("tvm-vm compile - -o - <$onnx | tvm-vm run - --input 'x=[[[1, 2]]]'");
  EXPECT_THAT(result.err, HasSubstr("64"));  // the model's x has 64 columns: it was read
  ToolResult output = Run(
      "tvm-vm compile - -o p.vmexe <$onnx && tvm-vm run - --dim length=2 --output-dir - <p.vmexe >y.npy && "
      "tvm-vm run p.vmexe --dim length=2 --expect y.npy");
  EXPECT_EQ(output.exit_code, 0) << output.err;
}

TEST_F(DemoTest, TheOutputIsNoInput) {
  const std::string copy = "cp $onnx m.onnx; ln -s m.onnx link.onnx; ";
  ExpectFails(copy + "tvm-vm compile m.onnx -o m.onnx", "'m.onnx' would replace 'm.onnx', which is read");
  ExpectFails("tvm-vm compile m.onnx -o link.onnx", "would replace");
  ExpectFails("tvm-vm compile link.onnx -o m.onnx", "would replace");
  ExpectFails("tvm-vm bench m.onnx --trace m.onnx", "would replace");
  EXPECT_EQ(ReadBytes(scratch_ / "m.onnx"), ReadBytes(Onnx()));
  EXPECT_EQ(Run("tvm-vm compile m.onnx").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "m.vmexe"));
  EXPECT_EQ(Run("ln -s kept.vmexe to.vmexe; tvm-vm compile m.onnx -o to.vmexe").exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(scratch_ / "to.vmexe"));
  EXPECT_TRUE(std::filesystem::is_regular_file(scratch_ / "kept.vmexe"));
}

// Wherever a signal comes, nothing is left: files have names once they are whole.
TEST_F(DemoTest, SignalsLeaveNothingBehind) {
  for (const char* signal : {"INT", "TERM", "KILL"}) {
    for (const char* seconds : {"0.02", "0.06", "0.1", "0.2", "0.4"}) {
      Run(std::string("timeout -s ") + signal + " " + seconds + " '" + ToolPath() +
          "' compile $onnx -o out.vmexe");
      for (const std::string& name : scratch_.Names())
        EXPECT_EQ(name, "out.vmexe") << signal << " " << seconds;
      std::filesystem::remove(scratch_ / "out.vmexe");
    }
  }
}

TEST_F(DemoTest, InspectShowsModels) {
  ToolResult text = Run("tvm-vm inspect $onnx");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("input   x: f32[batch, length, 64]"));
  EXPECT_THAT(text.out, HasSubstr("MatMul"));
  nlohmann::json json = nlohmann::json::parse(Run("tvm-vm inspect $onnx --json").out);
  EXPECT_GT(json["nodes"], 5);
  EXPECT_GT(json["weights"]["bytes"], 0);
}

TEST_F(DemoTest, GraphsAreDrawn) {
  ToolResult drawn = Run("tvm-vm inspect $onnx --dot -");
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_THAT(drawn.out, testing::StartsWith("digraph \""));
  EXPECT_THAT(drawn.out, HasSubstr("[label=\"MatMul\""));
  EXPECT_THAT(drawn.out, ::testing::ContainsRegex("n0 -> n[0-9]+ \\[label=\"x\"\\]"));
  ToolResult file = Run("tvm-vm inspect $onnx --dot graph.dot");
  EXPECT_THAT(file.out, HasSubstr("input   x: f32[batch, length, 64]"));
  EXPECT_EQ(Run("cat graph.dot").out, drawn.out);
  ExpectFails("tvm-vm inspect $vmexe --dot -", "is a .vmexe");
}

TEST_F(DemoTest, FilesThatAreNoModelsAreNamed) {
  ExpectFails("cp $vmexe p.onnx; tvm-vm compile p.onnx", "is a .vmexe program, not an ONNX file: run it");
  EXPECT_EQ(Run("cp $vmexe p.onnx; tvm-vm run p.onnx").exit_code, 0);  // and it runs
  ExpectFails("echo hello world >t.onnx; tvm-vm compile t.onnx", "is not an ONNX file: it is text");
  ExpectFails("head -c 5000 $onnx >c.onnx; tvm-vm compile c.onnx", "is cut off at byte 5000");
  ExpectFails("head -c 5000 $onnx >c.onnx; tvm-vm inspect c.onnx", "is cut off at byte 5000");
}

TEST_F(DemoTest, MadeInputsCountAgainstTheLimit) {
  ExpectFails("tvm-vm run $vmexe --dim length=99999999999", "would be made, the machine has");
  ExpectFails("tvm-vm run $vmexe --dim length=1000 --max-bytes 200000",
              "would be made, the limit of all is 200000 bytes");
  EXPECT_THAT(Run("tvm-vm run $vmexe -i x=random:1x2x64 --dim length=7").err,
              HasSubstr("--dim length has no effect"));
  ExpectFails("tvm-vm run $vmexe --dim lenght=7", "(did you mean 'length'?)");
}

TEST_F(DemoTest, AClosedPipeIsAnError) {
  ToolResult result = Run("tvm-vm ops | true; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_THAT(result.err, HasSubstr("standard output: Broken pipe (io)"));
}

TEST_F(DemoTest, QuietAndStrict) {
  EXPECT_THAT(Run("tvm-vm -q run $vmexe").err, IsEmpty());
  EXPECT_THAT(Run("tvm-vm run $vmexe --quiet").err, IsEmpty());
  ExpectFails("tvm-vm run $vmexe --device vulkan,cpu --strict", "--strict");
}

TEST_F(DemoTest, VerboseTellsWhatIsDone) {
  ToolResult run = Run("tvm-vm run $vmexe -v");
  for (const char* detail : {"loaded '", "kernels, ", "bound to ", "x: f32[1, 1, 64]"})
    EXPECT_THAT(run.err, HasSubstr(detail));
  EXPECT_EQ(run.out, Run("tvm-vm run $vmexe").out);
  EXPECT_THAT(Run("tvm-vm -v run $onnx").err, AllOf(HasSubstr("the compiler is "), HasSubstr("compiled '")));
  ExpectUsageError(InScratch("tvm-vm run $vmexe -v -q"), "--quiet");
}

TEST_F(DemoTest, NativeCodeCanBeRefused) {
  ExpectFails("tvm-vm run $vmexe --no-native", "the program runs code of its own");
  EXPECT_EQ(Run("tvm-vm run $onnx --no-native").exit_code, 0);  // what is compiled here is ours
}

TEST_F(DemoTest, TextsHoldNoMachineCode) {
  ToolResult made = Run("tvm-vm disasm $vmexe --constants -o d.vmasm && tvm-vm asm d.vmasm -o d.vmexe");
  EXPECT_EQ(made.exit_code, 0);
  EXPECT_THAT(made.err, HasSubstr("text holds no machine code"));
  EXPECT_THAT(Run("tvm-vm inspect d.vmexe").out, HasSubstr("input   x: f32[batch, length, 64]"));
  ExpectFails("tvm-vm run d.vmexe", "holds no code of its CPU kernels");
  EXPECT_THAT(Run("tvm-vm asm --help").out, HasSubstr("holds no machine code"));
}

TEST_F(DemoTest, DigestsTellContentsApart) {
  auto output = [this](const std::string& options) {
    return nlohmann::json::parse(Run("tvm-vm run $vmexe --json " + options).out)["outputs"][0]["digest"];
  };
  EXPECT_EQ(output("--seed 1"), output("--seed 1"));
  EXPECT_NE(output("--seed 1"), output("--seed 2"));
  const nlohmann::json run = nlohmann::json::parse(Run("tvm-vm run $vmexe --json").out);
  EXPECT_EQ(run["devices"][0]["name"], "cpu");
  EXPECT_GT(run["devices"][0]["kernels"], 0);
  const std::string digest = nlohmann::json::parse(Run("tvm-vm inspect $vmexe --json").out)["digest"];
  EXPECT_EQ(digest.size(), 32u);
  EXPECT_THAT(Run("cp $vmexe copy.vmexe; tvm-vm inspect copy.vmexe").out, HasSubstr("digest: " + digest));
}

TEST_F(DemoTest, BenchShowsTheKernels) {
  ToolResult result =
      Run("export TVMVM_CACHE_DIR=$PWD; tvm-vm bench $vmexe --dim length=4 --repeat 2 --profile --trace "
          "trace.json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("GFLOP/s"));
  nlohmann::json trace = nlohmann::json::parse(ReadBytes(scratch_ / "trace.json"));
  std::map<std::string, int> names;
  for (const nlohmann::json& event : trace["traceEvents"]) ++names[event["name"]];
  EXPECT_EQ(names["process_name"], 1);
  EXPECT_GE(names["thread_name"], 2);  // of the runs, and of the CPU
  EXPECT_EQ(names["load"], 1);
  EXPECT_EQ(names["run 1"], 1);  // as many as asked for
  EXPECT_EQ(names["run 2"], 0);
  EXPECT_EQ(names["memory held"], 2);
  EXPECT_THAT(trace.dump(), HasSubstr("x: f32[1, 4, 64]"));
}

// The machine is measured once: the second profile finds the file.
TEST_F(DemoTest, BenchComparesKernelsWithTheMachine) {
  const std::string profile =
      "export TVMVM_CACHE_DIR=$PWD/cache; tvm-vm bench $vmexe --repeat 2 --threads 1 --profile";
  const ToolResult first = Run(profile);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  // No kernel of this machine is faster than that, which would have it measured again.
  for (const auto& file : std::filesystem::directory_iterator(scratch_ / "cache")) {
    nlohmann::json machine = nlohmann::json::parse(ReadBytes(file.path()));
    for (nlohmann::json& speed : machine["gflops"]) speed = speed.get<double>() * 1000;
    std::ofstream(file.path()) << machine;
  }
  const ToolResult second = Run(profile), json = Run(profile + " --json");
  EXPECT_THAT(first.out, HasSubstr("%flops  %bytes  %limit"));
  EXPECT_THAT(first.err, HasSubstr("measuring what this machine does"));
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(Run(profile + " --measure").err, HasSubstr("measuring what this machine does"));
#if defined(__x86_64__)
  EXPECT_THAT(second.err, Not(HasSubstr("measuring")));
  EXPECT_THAT(second.out, HasSubstr(", 1 thread: "));
  const nlohmann::json shown = nlohmann::json::parse(json.out);
  EXPECT_GT(shown["machine"]["gflops"]["f32"], 0);
  EXPECT_GT(shown["machine"]["bandwidths"].size(), 10u);
  for (const nlohmann::json& kernel : shown["kernels"]) {
    EXPECT_GT(kernel["limit_ns"], 0) << kernel;
    EXPECT_GE(kernel["of_limit"],
              std::max(kernel["of_flops"].get<double>(), kernel["of_bytes"].get<double>()) * 0.999)
        << kernel;
  }
#endif
}

TEST_F(DemoTest, InspectShowsTheSignature) {
  ToolResult text = Run("tvm-vm inspect $vmexe");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("input   x: f32[batch, length, 64]"));
  EXPECT_THAT(text.out, HasSubstr("demo.onnx"));
  nlohmann::json json = nlohmann::json::parse(Run("tvm-vm inspect $vmexe --json").out);
  EXPECT_EQ(json["inputs"][0]["dims"], nlohmann::json::array({"batch", "length", 64}));
  EXPECT_FALSE(json["sections"].empty());
  EXPECT_FALSE(json["libraries"].empty());
}

TEST_F(DemoTest, DisassemblyNamesTheNodes) {
  ToolResult result = Run("tvm-vm disasm $vmexe");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("launch"));
  EXPECT_THAT(result.out, HasSubstr("/queries"));
}

TEST_F(DemoTest, DumpWritesValuesInsideTheModel) {
  ToolResult all = Run("tvm-vm run $onnx --dump all --output-dir values");
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "values/scores.npy"));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "values/y.npy"));
  ToolResult one = Run("tvm-vm run $onnx --dump scores --output-dir one");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, StartsWith("scores: f32[1, 1, 1]"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "one/y.npy"));
  ToolResult node = Run("tvm-vm run $onnx --dump /queries --output-dir node");
  EXPECT_EQ(node.exit_code, 0) << node.err;
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "node/y.npy"));
  ToolResult input = Run("tvm-vm run $onnx --dump x --output-dir input --seed 3");
  EXPECT_THAT(input.out, StartsWith("x: f32[1, 1, 64]"));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "input/x.npy"));
  EXPECT_EQ(Run("tvm-vm run $vmexe -i x=input/x.npy").out, Run("tvm-vm run $vmexe --seed 3").out);
  ExpectFails("tvm-vm run $onnx --dump nobody --output-dir none", "no value or node named 'nobody'");
  ExpectFails("tvm-vm run $vmexe --dump all --output-dir none", "this is a program");
}

// A loop of n steps over the rows of x.
constexpr const char* kLoopText = R"(symbol i: [0, inf]
symbol n: [0, inf]
func @main {
  input "x" = %0: tensor<f32,[n,4]>
  input "h" = %1: tensor<f32,[4]>
  %2 "last": tensor<f32,[4]> = loop(%1) {trip = dim(n), index = "i", start = dim(1), continue = dim(1), symbols = strings[], initial = dims[], next = dims[], finals = strings[], count = ""} (%4: tensor<f32,[4]>) {
    %5: tensor<f32,[1,4]> = slice(%0) {dims = dims[1, 4], starts = dims[i, 0], steps = dims[1, 1]}
    %6: tensor<f32,[4]> = reshape(%5) {dims = dims[4]}
    %7 "sum": tensor<f32,[4]> = add(%4, %6)
    yield %7
  }
  output "last" = %2
}
)";

TEST_F(DemoTest, TraceShowsEachStep) {
  WriteBytes(scratch_ / "loop.ir", kLoopText);
  ToolResult result = Run("tvm-vm run loop.ir --dim n=3 --trace-values");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* line : {"loop: step 0\n", "loop: step 1\n", "loop: step 2\n", "fused: sum f32[4]\n"})
    EXPECT_THAT(result.err, HasSubstr(line));
  EXPECT_THAT(result.err, Not(HasSubstr("step 3")));
  EXPECT_THAT(result.out, StartsWith("last: f32[4] ["));
  ExpectFails("tvm-vm run $vmexe --trace-values", "this is a program");
}

TEST_F(DemoTest, RunsEndAtTheirLimits) {
  WriteBytes(scratch_ / "loop.ir", kLoopText);
  ASSERT_EQ(Run("tvm-vm compile loop.ir -o loop.vmexe --disable-pass outline-loops").exit_code, 0);
  EXPECT_EQ(Run("tvm-vm run loop.vmexe --dim n=1000 --max-steps 1000000 --timeout 60").exit_code, 0);
  ExpectFails("tvm-vm run loop.vmexe --dim n=1000 --max-steps 100", "the limit of 100 steps is reached");
  ExpectFails("tvm-vm run loop.vmexe --dim n=10000000 --timeout 0.001",
              "the limit of 1000 microseconds is reached");
  ExpectFails("tvm-vm run loop.vmexe --dim n=10000000 --timeout 1e-7",
              "the limit of 100 nanoseconds is reached");
  ExpectFails("tvm-vm run $vmexe --dim length=1000 --max-bytes 300000", "the limit is 300000");
  ExpectUsageError("tvm-vm run a.vmexe --timeout -1", "--timeout");
}

// K, M, G of 1000 and Ki, Mi, Gi of 1024, whatever the option.
TEST_F(DemoTest, SizesFollowOneRule) {
  const std::vector<std::pair<std::string, int64_t>> sizes = {
      {"300000", 300000}, {"300K", 300000}, {"300kb", 300000}, {"300Ki", 307200}, {"300KiB", 307200}};
  for (const auto& [text, bytes] : sizes) {
    ExpectFails("tvm-vm run $vmexe --dim length=1000 --max-bytes " + text,
                "the limit is " + std::to_string(bytes));
    ExpectFails("tvm-vm compile $onnx -o a.vmexe --dim batch=1 --dim length=1000 --memory-budget " + text,
                "(out_of_memory)");
  }
  for (const auto& [text, bytes] : {std::pair("1G", 1000000000), std::pair("1Gi", 1 << 30)}) {
    ToolResult bench = Run(std::string("tvm-vm bench $vmexe --repeat 1 --json --memory-pool ") + text);
    EXPECT_EQ(nlohmann::json::parse(bench.out)["pool"]["max_bytes"], bytes);
    ToolResult compile =
        Run("tvm-vm compile $onnx -o a.vmexe --dim batch=1 --dim length=1..16 --json --memory-budget " +
            std::string(text));
    EXPECT_EQ(nlohmann::json::parse(compile.out)["memory"]["budget_bytes"], bytes);
  }
}

TEST_F(DemoTest, DimsOfGraphsInTextFormAreWhatIsSaid) {
  WriteBytes(scratch_ / "loop.ir", kLoopText);
  ASSERT_EQ(Run("tvm-vm compile loop.ir -o a.vmexe --dim n=2..7").exit_code, 0);
  EXPECT_EQ(Run("tvm-vm run a.vmexe --dim n=7").exit_code, 0);
  ExpectFails("tvm-vm run a.vmexe --dim n=8", "n");
  ASSERT_EQ(Run("tvm-vm compile loop.ir -o a.vmexe --dim n=5").exit_code, 0);
  EXPECT_THAT(Run("tvm-vm inspect a.vmexe").out, HasSubstr("x: f32[5, 4]"));
  ExpectFails("tvm-vm compile loop.ir -o a.vmexe --dim k=5", "no input has a dimension 'k'; there is 'n'");
}

TEST_F(DemoTest, PassesCanBePrinted) {
  ToolResult result = Run("tvm-vm compile $onnx -o a.vmexe --time-passes --print-after all");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("@main"));
}

TEST_F(DemoTest, SchedulesGoToAFileAndBack) {
  ASSERT_EQ(Run("tvm-vm compile $onnx -o a.vmexe --write-schedule a.schedule").exit_code, 0);
  ToolResult again = Run("tvm-vm compile $onnx -o b.vmexe --schedule a.schedule --write-schedule b.schedule");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, Not(HasSubstr("warning")));
  EXPECT_EQ(Run("cmp a.vmexe b.vmexe && cmp a.schedule b.schedule").exit_code, 0);
}

TEST_F(DemoTest, SchedulesAreChangedByAFile) {
  WriteBytes(scratch_ / "c.schedule",
             "product[]@cpu: block_rows=12\nproduct[f32 rows=none]@cpu: block_rows=12\n");
  ToolResult changed =
      Run("tvm-vm compile $onnx -o c.vmexe --schedule c.schedule --write-schedule d.schedule");
  ASSERT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_THAT(changed.err,
              HasSubstr("warning: c.schedule:2: no kernel of this model is product[f32 rows=none]@cpu"));
  EXPECT_EQ(Run("grep -c 'block_rows=12 ' d.schedule").exit_code, 0);
  WriteBytes(scratch_ / "e.schedule", "product[]@cpu: block_rows=0\n");
  ExpectFails("tvm-vm compile $onnx -o c.vmexe --schedule e.schedule",
              "e.schedule:1: 'block_rows' is 0; allowed is 1 to 4096");
}

TEST_F(DemoTest, RunningAPackagedProgramStartsQuicklyAndWithoutLlvm) {
  ToolResult traced = Run("LD_DEBUG=files tvm-vm run $vmexe");
  EXPECT_EQ(traced.exit_code, 0);
  EXPECT_THAT(traced.err, HasSubstr("libtvm-vm.so"));
  EXPECT_THAT(traced.err, Not(HasSubstr("libLLVM")));
}

}  // namespace
}  // namespace tvmvm::cli
