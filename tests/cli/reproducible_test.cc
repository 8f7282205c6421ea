// Compiling is a function of the model and the options: whoever compiles again gets the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/console.h"
#include "tests/cli/loop_text.h"
#include "tests/cli/scratch.h"
#include "tests/folders.h"
#include "tests/require.h"

namespace tvmvm::cli {
namespace {

// A product and a softmax-like row, with a second output.
constexpr const char* kProduct = R"(symbol n: [0, inf]
symbol m: [0, inf]
func @main {
  input "x" = %0: tensor<f32,[n,m]>
  input "y" = %1: tensor<f32,[m,n]>
  %2: tensor<f32,[n,n]> = contract(%0, %1) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}
  %3 "e": tensor<f32,[n,n]> = exp(%2)
  %4 "s": tensor<f32,[n,1]> = reduce(%3) {flags = dims[0, 1], kind = "sum"}
  output "e" = %3
  output "s" = %4
}
)";

struct Place {
  std::string folder, setting;
};

TEST(ReproducibleTest, TwoCompilationsGiveTheSameBytes) {
  if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  ScratchFolder scratch;
  // The second place has another depth, environment, time zone, number of threads and address-space layout.
  const Place places[] = {{scratch / "a", "TZ=UTC"},
                          {scratch / "b/longer/folder", "TZ=Asia/Tokyo HOME=/nowhere LC_ALL=C TMPDIR=/tmp"}};
  for (const Place& place : places) {
    std::filesystem::create_directories(place.folder);
    ASSERT_EQ(RunShell("'" + BuildPath("make_demo_model") + "' '" + place.folder + "/demo.onnx'").exit_code,
              0);
    WriteBytes(place.folder + "/loop.ir", kLoopText);
    WriteBytes(place.folder + "/product.ir", kProduct);
  }
  for (const std::string model : {"demo.onnx", "loop.ir", "product.ir"})
    for (const std::string options :
         {"", "--target x86-64-v3,x86-64-v4", "--device opencl,cpu --prefer-gpu",
          "--device vulkan,cpu --prefer-gpu --precision fp16", "--weights int8"}) {
      std::string bytes[2];
      for (int i = 0; i < 2; ++i) {
        const ToolResult made =
            RunShell("cd '" + places[i].folder + "' && export " + places[i].setting + " && tvm-vm compile " +
                     model + " -o out" + (i == 0 ? "" : "put") + ".vmexe " + options);
        ASSERT_EQ(made.exit_code, kExitOk) << model << " " << options << "\n" << made.err;
        bytes[i] = ReadBytes(places[i].folder + (i == 0 ? "/out.vmexe" : "/output.vmexe"));
      }
      ASSERT_GT(bytes[0].size(), 1000u);
      EXPECT_TRUE(bytes[0] == bytes[1]) << model << " " << options;
    }
}

}  // namespace
}  // namespace tvmvm::cli
