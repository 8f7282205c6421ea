// Every example of every --help, and every command of the tool in README and docs, is run: in a folder that
// holds the files which they name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/console.h"
#include "tests/cli/scratch.h"
#include "tests/folders.h"
#include "tests/require.h"
#include "tests/sanitizer.h"

namespace tvmvm::cli {
namespace {

namespace fs = std::filesystem;

// bert.onnx of the examples: ids and mask of [batch, seq].
constexpr const char* kTwoInputs = R"(symbol batch: [0, inf]
symbol seq: [0, inf]
func @main {
  input "ids" = %0: tensor<i64,[batch,seq]>
  input "mask" = %1: tensor<i64,[batch,seq]>
  %2 "y": tensor<i64,[batch,seq]> = mul(%0, %1)
  output "y" = %2
}
)";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// A field of a protocol buffer that has a length.
std::string Field(int number, const std::string& bytes) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  for (size_t size = bytes.size();; size >>= 7) {
    text += static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0));
    if (size < 0x80) return text + bytes;
  }
}

// f32[4, 128, 64]
std::string TensorMessage(const std::string& name, const std::string& bytes) {
  return std::string("\x08\x04\x08\x80\x01\x08\x40\x10\x01", 9) + Field(8, name) + Field(9, bytes);
}

void WriteArchive(const std::string& path, const std::vector<std::pair<std::string, std::string>>& files) {
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  for (const auto& [name, bytes] : files) {
    zipOpenNewFileInZip64(zip, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, 0, 6, 0);
    zipWriteInFileInZip(zip, bytes.data(), static_cast<unsigned>(bytes.size()));
    zipCloseFileInZip(zip);
  }
  zipClose(zip, nullptr);
}

class ExamplesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
    In("'" + BuildPath("make_demo_model") + "' model.onnx && cp model.onnx gpt2.onnx");
    WriteBytes(files_ / "bert.onnx", kTwoInputs);
    In("tvm-vm compile bert.onnx && tvm-vm compile model.onnx && "
       "tvm-vm compile gpt2.onnx --device vulkan,cpu --prefer-gpu && "
       "tvm-vm compile bert.onnx --write-schedule bert.schedule && "
       "tvm-vm compile model.onnx --write-schedule model.schedule && tvm-vm disasm bert.vmexe -o "
       "model.vmasm");
    In("tvm-vm run model.vmexe -i x=random:4x128x64 --output-dir - >x.npy && "
       "tvm-vm run model.vmexe -i x.npy --output-dir - >y.npy && "
       "tvm-vm run bert.vmexe -i ids=random:1x128:0..9 -i mask=random:1x128 --output-dir - >ids.npy && cp "
       "ids.npy mask.npy");
    const std::string ids = ReadBytes(files_ / "ids.npy");
    WriteArchive(files_ / "all.npz", {{"mask.npy", ids}, {"ids.npy", ids}});
    constexpr size_t kBytes = 4 * 128 * 64 * 4;
    const std::string x = ReadBytes(files_ / "x.npy"), y = ReadBytes(files_ / "y.npy");
    WriteBytes(files_ / "x.bin", x.substr(x.size() - kBytes));
    In("mkdir -p test_data_set_0 docs onnx/node/test_add .zfunc .config/fish/completions "
       ".local/share/bash-completion/completions");
    WriteBytes(files_ / "test_data_set_0/input_0.pb", TensorMessage("x", x.substr(x.size() - kBytes)));
    WriteBytes(files_ / "test_data_set_0/output_0.pb", TensorMessage("y", y.substr(y.size() - kBytes)));
    In("cp -r model.onnx test_data_set_0 onnx/node/test_add");
    In("tvm-vm keygen release.key && tvm-vm sign model.vmexe --key release.key -o signed.vmexe");
    WriteBytes(files_ / "shapes.txt", "batch=1 length=4\nbatch=2 length=7  # longer\n");
  }

  void In(const std::string& command) const {
    ToolResult result = RunShell("cd '" + files_.path() + "'; " + command);
    ASSERT_EQ(result.exit_code, 0) << command << "\n" << result.err;
  }

  // In a copy of the folder, for examples write files.
  void Check(const std::string& command, const std::string& where) const {
    // Sanitizers do not live in the sandbox.
    if (kSanitized && command.find("--sandbox") != std::string::npos) return;
    ScratchFolder copy;
    ToolResult result = RunShell("cp -r '" + files_.path() + "/.' '" + copy.path() + "'; cd '" + copy.path() +
                                 "'; export HOME=$PWD TVMVM_CACHE_DIR=$PWD/cache; " + command);
    // A machine may lack the device; what the command line says is right in any case.
    const bool needs_gpu =
        command.find("vulkan") != std::string::npos || command.find("opencl") != std::string::npos;
    if (needs_gpu && result.exit_code == kExitFailed) return;
    EXPECT_EQ(result.exit_code, kExitOk) << where << ": " << command << "\n" << result.err;
  }

  ScratchFolder files_;
};

TEST_F(ExamplesTest, OfEveryHelpRun) {
  int count = 0;
  for (const std::string& line : Lines(RunShell("tvm-vm --help").out)) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (!line.starts_with("  ") || line.starts_with("   ") || command.starts_with("-")) continue;
    bool has_example = false;
    for (const std::string& example : Lines(RunShell("tvm-vm " + command + " --help").out)) {
      if (!example.starts_with("  tvm-vm ")) continue;
      has_example = true;
      ++count;
      Check(example.substr(2), command + " --help");
    }
    EXPECT_TRUE(has_example) << command;
  }
  EXPECT_GT(count, 40);
}

TEST_F(ExamplesTest, OfReadmeAndDocsRun) {
  const fs::path root = SourcePath();
  std::vector<fs::path> documents = {root / "README.md"};
  for (const auto& entry : fs::directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  int count = 0;
  for (const fs::path& document : documents) {
    bool inside = false;
    for (std::string line : Lines(ReadBytes(document.string()))) {
      if (line.starts_with("```")) inside = !inside;
      if (line.starts_with("build/")) line = line.substr(6);
      if (!inside || !line.starts_with("tvm-vm ")) continue;
      ++count;
      Check(line.substr(0, line.find(" #")), document.filename().string());
    }
  }
  EXPECT_GT(count, 15);
}

}  // namespace
}  // namespace tvmvm::cli
