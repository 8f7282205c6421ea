// The demo model's files, made, shown, damaged, piped, and cut off on their way to the disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/demo/demo_model.h"

namespace tvmvm::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(DemoTest, CompileReportsWhatItWrote) {
  nlohmann::json json = nlohmann::json::parse(compile_output_);
  EXPECT_EQ(json["output"], Vmexe());
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(Vmexe()));
  EXPECT_THAT(folder_->Names(), ::testing::UnorderedElementsAre("demo.onnx", "demo.vmexe"));
}

TEST_F(DemoTest, Precision) {
  ExpectFails("tvm-vm run $vmexe --precision fp16", "the precision is chosen where a model is compiled");
  ToolResult result = Run("tvm-vm compile $onnx -o half.vmexe --device null,cpu --precision fp16");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Run("tvm-vm inspect half.vmexe").out, HasSubstr("--precision fp16"));
  EXPECT_THAT(Run("tvm-vm run $onnx --precision fp16").err, HasSubstr("is for GPUs"));
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

TEST_F(DemoTest, TextsHoldNoMachineCode) {
  ToolResult made = Run("tvm-vm disasm $vmexe --constants -o d.vmasm && tvm-vm asm d.vmasm -o d.vmexe");
  EXPECT_EQ(made.exit_code, 0);
  EXPECT_THAT(made.err, HasSubstr("text holds no machine code"));
  EXPECT_THAT(Run("tvm-vm inspect d.vmexe").out, HasSubstr("input   x: f32[batch, length, 64]"));
  ExpectFails("tvm-vm run d.vmexe", "holds no code of its CPU kernels");
  EXPECT_THAT(Run("tvm-vm asm --help").out, HasSubstr("holds no machine code"));
}

TEST_F(DemoTest, FilesThatAreNoModelsAreNamed) {
  ExpectFails("cp $vmexe p.onnx; tvm-vm compile p.onnx", "is a .vmexe program, not an ONNX file: run it");
  EXPECT_EQ(Run("cp $vmexe p.onnx; tvm-vm run p.onnx").exit_code, 0);  // and it runs
  ExpectFails("echo hello world >t.onnx; tvm-vm compile t.onnx", "is not an ONNX file: it is text");
  ExpectFails("head -c 5000 $onnx >c.onnx; tvm-vm compile c.onnx", "is cut off at byte 5000");
  ExpectFails("head -c 5000 $onnx >c.onnx; tvm-vm inspect c.onnx", "is cut off at byte 5000");
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

TEST_F(DemoTest, FullDisks) {
  ExpectFails("tvm-vm run $vmexe --output-dir /dev/full/x", "/dev/full/x");
  ExpectFails("tvm-vm inspect $vmexe >/dev/full", "standard output");
  ExpectFails("tvm-vm compile $onnx -o /dev/full", "/dev/full': No space left on device");
  ExpectFails("tvm-vm compile $onnx -o none/a.vmexe", "none/a.vmexe");
  EXPECT_THAT(scratch_.Names(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(DemoTest, ModelsAreReadFromAndWrittenToPipes) {
  ToolResult result = Run("tvm-vm compile - -o - <$onnx | tvm-vm run - --input 'x=[[[1, 2]]]'");
  EXPECT_THAT(result.err, HasSubstr("64"));  // the model's x has 64 columns: it was read
  ToolResult output = Run(
      "tvm-vm compile - -o p.vmexe <$onnx && tvm-vm run - --dim length=2 --output-dir - <p.vmexe >y.npy && "
      "tvm-vm run p.vmexe --dim length=2 --expect y.npy");
  EXPECT_EQ(output.exit_code, 0) << output.err;
}

TEST_F(DemoTest, AClosedPipeIsAnError) {
  ToolResult result = Run("tvm-vm ops | true; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_THAT(result.err, HasSubstr("standard output: Broken pipe (io)"));
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

}  // namespace
}  // namespace tvmvm::cli
