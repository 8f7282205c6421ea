#include "tvm-vm/c_isolated_compiler.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "tests/isolated_compiler/small_models.h"

extern "C" int tvmvm_test_isolated_compiler_in_c(const char* path, const void* model, size_t model_bytes);

namespace tvmvm {
namespace {

using ::testing::HasSubstr;

// The message; frees the status.
std::string Taken(tvmvm_status* status) {
  const std::string text = tvmvm_status_message(status);
  tvmvm_status_free(status);
  return text;
}

std::string OutcomeWith(tvmvm_isolated_compile_options options) {
  const std::string model = ChainModel(1);
  tvmvm_program* program = nullptr;
  options.size = options.size == 0 ? sizeof options : options.size;
  const std::string text =
      Taken(tvmvm_compile_bytes_isolated(model.data(), model.size(), &options, &program));
  tvmvm_program_free(program);
  return text;
}

TEST(CIsolatedCompiler, ServesAProgramInC) {
  const NothingLeft nothing_left;
  const std::string path = ::testing::TempDir() + "c_isolated." + std::to_string(getpid()) + ".onnx";
  const std::string model = ChainModel(2);
  std::ofstream(path, std::ios::binary) << model;
  EXPECT_EQ(tvmvm_test_isolated_compiler_in_c(path.c_str(), model.data(), model.size()), 0);
  std::filesystem::remove(path);
}

TEST(CIsolatedCompiler, WrongArgumentsAreErrors) {
  tvmvm_program* program = nullptr;
  EXPECT_EQ(Taken(tvmvm_compile_file_isolated(nullptr, nullptr, &program)), "path or program is null");
  EXPECT_EQ(Taken(tvmvm_compile_file_isolated("x", nullptr, nullptr)), "path or program is null");
  EXPECT_EQ(Taken(tvmvm_compile_bytes_isolated(nullptr, 1, nullptr, &program)), "model or program is null");
  EXPECT_EQ(Taken(tvmvm_compile_cancel_create(nullptr)), "cancel is null");
  tvmvm_compile_cancel_request(nullptr);
  tvmvm_compile_cancel_free(nullptr);
  EXPECT_THAT(OutcomeWith({.size = 8}), HasSubstr("options.size is 8"));
  EXPECT_EQ(OutcomeWith({.max_bytes = -1}), "options.max_bytes is -1, at least 0 is wanted");
  EXPECT_EQ(OutcomeWith({.timeout_ns = -1}), "options.timeout_ns is -1, at least 0 is wanted");
  EXPECT_EQ(OutcomeWith({.device_count = 1}), "options.devices is null");
  EXPECT_EQ(OutcomeWith({.target_count = 1}), "options.targets is null");
  EXPECT_EQ(OutcomeWith({.dim_count = 1}), "options.dims is null");
  EXPECT_EQ(OutcomeWith({.weights = static_cast<tvmvm_weight_storage>(3)}),
            "options.weights is 3, 0 to 2 is wanted");
  EXPECT_THAT(OutcomeWith({.runner = "/absent"}), HasSubstr("there is no runner '/absent'"));
}

}  // namespace
}  // namespace tvmvm
