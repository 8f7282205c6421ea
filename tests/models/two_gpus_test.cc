// A model divided between two GPUs of different kinds, against the CPU alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/models/demo_model.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using Devices = std::vector<std::shared_ptr<Device>>;

std::vector<float> ResultOf(const std::shared_ptr<const Program>& program, const Devices& devices,
                            size_t devices_with_kernels) {
  VmOptions options;
  options.threads = 1;
  options.devices = devices;
  auto vm = Vm::Create(program, options);
  if (!vm) {
    ADD_FAILURE() << vm.error().message;
    return {};
  }
  size_t with_kernels = 0;
  for (const DeviceUse& use : (*vm)->Devices()) with_kernels += use.device != kHostDevice && use.kernels > 0;
  EXPECT_EQ(with_kernels, devices_with_kernels);
  std::vector<float> x(size_t{2 * 5 * kDemoWidth});
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  std::array inputs{Tensor::Borrow(DType::kF32, Shape{2, 5, kDemoWidth}, x.data())};
  std::array outputs{Tensor()};
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  EXPECT_TRUE(status) << status.error().message;
  if (!status) return {};
  const auto* y = static_cast<const float*>(outputs[0].data());
  return {y, y + outputs[0].element_count()};
}

TEST(TwoGpus, EachRunsAPartOfOneModel) {
  Devices gpus;
  for (const char* name : {"vulkan", "opencl"}) {
    auto device = OpenDevice(name, {});
    if (!device) TVMVM_SKIP_WITHOUT(name, device.error().message);
    gpus.push_back(*device);
  }
  CompileOptions options;
  options.devices = {"vulkan", "opencl", "cpu"};
  options.prefer_gpu = true;
  options.targets = {"x86-64-v3"};
  auto compiled = GetCompiler().CompileBytes(DemoModel(), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  const std::vector<float> wanted = ResultOf(compiled->program, {}, 0);
  ASSERT_FALSE(wanted.empty());
  for (const auto& [devices, used] :
       {std::pair(Devices{gpus[0], gpus[1]}, 2), {{gpus[1], gpus[0]}, 2}, {{gpus[0]}, 1}, {{gpus[1]}, 1}}) {
    const std::vector<float> found = ResultOf(compiled->program, devices, static_cast<size_t>(used));
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-4f) << i;
  }
}

}  // namespace
}  // namespace tvmvm
