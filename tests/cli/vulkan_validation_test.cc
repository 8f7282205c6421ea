// Models on Vulkan under the Khronos validation layer: whatever it reports is an error of the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/console.h"
#include "tests/cli/scratch.h"
#include "tests/folders.h"
#include "tests/require.h"
#include "tvm-vm/device_list.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;

// Of every kind of kernel and of control flow some.
constexpr const char* kSample[] = {"add_bcast",
                                   "matmul_4d",
                                   "gemm_all_attributes",
                                   "conv_with_strides_padding",
                                   "softmax_axis_1",
                                   "loop11",
                                   "loop13_seq",
                                   "scan9_sum",
                                   "if",
                                   "gather_0",
                                   "top_k",
                                   "lstm_defaults",
                                   "maxpool_2d_ceil_output_size_reduce_by_one",
                                   "cast_FLOAT_to_FLOAT16",
                                   "where_example",
                                   "scatter_elements_with_axis",
                                   "nonzero_example",
                                   "reduce_sum_keepdims_random"};

TEST(VulkanValidation, NothingIsReported) {
  if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  if (auto device = OpenDevice("vulkan", {.validation = true}); !device)
    TVMVM_SKIP_WITHOUT("vulkan", device.error().message);
  const std::filesystem::path nodes = SharedPath("onnx/node");
  if (!std::filesystem::exists(nodes)) TVMVM_SKIP_WITHOUT("onnx", nodes << " is not there");
  std::string folders;
  for (const char* name : kSample) {
    const std::filesystem::path folder = nodes / ("test_" + std::string(name));
    ASSERT_TRUE(std::filesystem::exists(folder)) << folder;
    folders += " '" + folder.string() + "'";
  }
  ScratchFolder scratch;
  const ToolResult result = RunShell("export TVMVM_VULKAN_VALIDATION=1 TVMVM_CACHE_DIR='" + scratch.path() +
                                     "' && tvm-vm test --device vulkan,cpu" + folders);
  EXPECT_EQ(result.exit_code, kExitOk) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr(std::to_string(std::size(kSample)) + " passed, 0 failed"));
}

}  // namespace
}  // namespace tvmvm::cli
