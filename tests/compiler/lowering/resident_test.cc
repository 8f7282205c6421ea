// Programs whose inputs and outputs stay in a GPU's memory give what they give from and to the host.
#include <gtest/gtest.h>

#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

// An output that later kernels read, one that is an input as it is, and one at the end; y is read twice.
const char kText[] = R"(symbol n: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,300]>
  input "y" = %1: tensor<f32,[300]>
  %2: tensor<f32,[n,300]> = add(%0, %1)
  %3: tensor<f32,[n,300]> = tanh(%2)
  %4: tensor<f32,[n,1]> = reduce(%3) {flags = dims[0, 1], kind = "sum", select_last = 0}
  %5: tensor<f32,[n,300]> = mul(%3, %4)
  %6: tensor<f32,[n,300]> = sub(%5, %1)
  output "tanh" = %3
  output "x" = %0
  output "last" = %6
}
)";

class ResidentOn : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = OpenDevice(GetParam(), {});
    if (!device) TVMVM_SKIP_WITHOUT(GetParam(), device.error().message);
    device_ = *device;
    CompileOptions options;
    options.devices = {GetParam(), "cpu"};
    options.prefer_gpu = true;
    options.strict = true;
    options.targets = {"host"};
    auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(kText, sizeof kText - 1)), options);
    ASSERT_TRUE(compiled) << compiled.error().message;
    VmOptions vm_options{.threads = 1};
    vm_options.devices = {device_};
    auto vm = Vm::Create(compiled->program, vm_options);
    ASSERT_TRUE(vm) << vm.error().message;
    vm_ = *vm;
  }

  static Tensor Numbers(Shape shape, float first) {
    Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
    for (int64_t i = 0; i < tensor.element_count(); ++i)
      static_cast<float*>(tensor.data())[i] = first + 0.01f * static_cast<float>(i % 97);
    return tensor;
  }

  static void ExpectSame(const Tensor& resident, const Tensor& wanted, const char* name) {
    auto got = resident.CopyTo(nullptr);
    ASSERT_TRUE(got) << got.error().message;
    for (int64_t i = 0; i < wanted.element_count(); ++i)
      ASSERT_EQ(static_cast<const float*>(got->data())[i], static_cast<const float*>(wanted.data())[i])
          << name << " " << i;
  }

  // Outputs in memory of their own, or the first in that of x.
  void Check(int64_t rows, bool in_place) {
    std::vector<Tensor> inputs{Numbers({rows, 300}, -0.5f), Numbers({300}, 0.25f)}, wanted(3);
    Status status = vm_->NewInvocation().Run(inputs, wanted);
    ASSERT_TRUE(status) << status.error().message;
    std::vector<Tensor> there, outputs;
    for (const Tensor& input : inputs) there.push_back(*input.CopyTo(device_));
    for (const Tensor& output : wanted)
      outputs.push_back(*Tensor::AllocateOn(device_, DType::kF32, output.shape()));
    if (in_place) outputs[0] = there[0];
    status = vm_->NewInvocation().Run(there, outputs);
    ASSERT_TRUE(status) << status.error().message;
    ExpectSame(outputs[0], wanted[0], "tanh");
    if (!in_place) ExpectSame(outputs[1], wanted[1], "x");
    ExpectSame(outputs[2], wanted[2], "last");
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Vm> vm_;
};

TEST_P(ResidentOn, AsFromTheHost) {
  for (int64_t rows : {1, 7, 40}) Check(rows, false);
}

TEST_P(ResidentOn, AnOutputMayLieInAnInput) { Check(7, true); }

INSTANTIATE_TEST_SUITE_P(Gpus, ResidentOn, ::testing::Values("vulkan", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tvmvm
