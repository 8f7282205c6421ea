// Real models with reference outputs, each through `tvm-vm test`.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/folders.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string output;
};

Outcome RunTool(const std::string& arguments) {
  Outcome outcome;
  FILE* pipe = popen((BuildPath("tvm-vm") + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> block;
  for (size_t count; (count = fread(block.data(), 1, block.size(), pipe)) > 0;)
    outcome.output.append(block.data(), count);
  outcome.exit_code = pclose(pipe);
  return outcome;
}

class ModelFolder : public testing::TestWithParam<const char*> {};

TEST_P(ModelFolder, GivesTheReferenceOutputs) {
  std::string folder = SharedPath("models/") + GetParam();
  if (!std::filesystem::exists(folder)) TVMVM_SKIP_WITHOUT("onnx", "no " << folder << " beside the project");
  Outcome outcome = RunTool("test " + folder + " --timeout 500");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
}

INSTANTIATE_TEST_SUITE_P(All, ModelFolder,
                         testing::Values("FastestDet", "aecmos", "cifar_classifier", "dnsmos_model_v8",
                                         "dummy_transformer", "dummy_transformer_mlm", "random_decoder",
                                         "random_encoder", "score_the_goal", "shufflenet-v2-12-int8",
                                         "sig_bak_ovr", "super_resolution", "tinyvad_cnn_speech_mel",
                                         "yolox_nano"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace tvmvm
