// A file of each version of the format: y = z / sum(z) along the last axis with z = relu(x) + {1, 2, 3}, for
// the CPU (x86-64-v3) and OpenCL; that of 1.4 divides by 1 as well, which it makes in a second stage. Each is
// read for ever, or refused with a clear message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/folders.h"
#include "tvm-vm/vm.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

class GoldenFiles : public ::testing::TestWithParam<const char*> {
 protected:
  std::string Path() const { return SourcePath("tests/golden/files/v") + GetParam() + ".vmexe"; }
};

TEST_P(GoldenFiles, IsRead) {
  ASSERT_TRUE(VerifyFile(Path()));
  auto program = LoadProgram(Path());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ((*program)->provenance.source, "gold.onnx");
  EXPECT_EQ((*program)->main().inputs[0].type.dims[0].symbol, "n");
  EXPECT_EQ((*program)->devices, Program().devices);
  ASSERT_EQ((*program)->device_entries.size(), 1u);
  EXPECT_EQ((*program)->device_entries[0].devices, (std::vector<uint32_t>{1, 0}));
}

TEST_P(GoldenFiles, Runs) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the file's kernels are for x86-64";
#endif
  auto program = LoadProgram(Path());
  ASSERT_TRUE(program) << program.error().message;
  auto vm = Vm::Create(*program);
  ASSERT_TRUE(vm) << vm.error().message;
  float x[] = {-1, 1, 3, 4, 0, -2};
  std::array inputs{Tensor::Borrow(DType::kF32, Shape{2, 3}, x)};
  std::array outputs{Tensor()};
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  const auto* y = static_cast<const float*>(outputs[0].data());
  const float wanted[] = {0.1f, 0.3f, 0.6f, 0.5f, 0.2f, 0.3f};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(y[i], wanted[i], 1e-6f) << i;
}

INSTANTIATE_TEST_SUITE_P(Versions, GoldenFiles, ::testing::Values("1.1", "1.2", "1.3", "1.4"));

}  // namespace
}  // namespace tvmvm
