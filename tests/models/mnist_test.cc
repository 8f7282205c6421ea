// mnist-8 (opset 1) on the 10,000 pictures of the MNIST test set, through the library.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/folders.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

std::vector<uint8_t> ReadGzip(const std::string& path) {
  std::vector<uint8_t> bytes;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return bytes;
  uint8_t block[1 << 16];
  for (int count; (count = gzread(file, block, sizeof(block))) > 0;)
    bytes.insert(bytes.end(), block, block + count);
  gzclose(file);
  return bytes;
}

TEST(Mnist, NamesAtLeast985Of1000PicturesRight) {
  const std::string shared = SharedPath();
  if (!std::filesystem::exists(shared + "/models/mnist-8/model.onnx"))
    TVMVM_SKIP_WITHOUT("onnx", "no " << shared << "/models beside the project");
  std::vector<uint8_t> pictures = ReadGzip(shared + "/models/mnist-data/t10k-images-idx3-ubyte.gz");
  std::vector<uint8_t> labels = ReadGzip(shared + "/models/mnist-data/t10k-labels-idx1-ubyte.gz");
  constexpr size_t kPictureHeader = 16, kLabelHeader = 8, kPixels = 28 * 28;
  ASSERT_GT(labels.size(), kLabelHeader);
  size_t count = labels.size() - kLabelHeader;
  ASSERT_EQ(pictures.size(), kPictureHeader + count * kPixels);

  auto compiled = GetCompiler().CompileFile(shared + "/models/mnist-8/model.onnx", {});
  ASSERT_TRUE(compiled) << compiled.error().message;
  auto vm = Vm::Create(compiled->program);
  ASSERT_TRUE(vm) << vm.error().message;
  Invocation invocation = (*vm)->NewInvocation();
  std::vector<float> picture(kPixels), scores(10);
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kF32, {1, 1, 28, 28}, picture.data())};
  std::vector<Tensor> outputs{Tensor::Borrow(DType::kF32, {1, 10}, scores.data())};
  size_t right = 0;
  for (size_t i = 0; i < count; ++i) {
    std::copy_n(pictures.begin() + static_cast<ptrdiff_t>(kPictureHeader + i * kPixels), kPixels,
                picture.begin());
    Status ran = invocation.Run(inputs, outputs);
    ASSERT_TRUE(ran) << ran.error().message;
    right += std::max_element(scores.begin(), scores.end()) - scores.begin() == labels[kLabelHeader + i];
  }
  EXPECT_GE(right * 1000, count * 985) << right << " of " << count << " right";
}

}  // namespace
}  // namespace tvmvm
