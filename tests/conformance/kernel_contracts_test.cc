// Kernels have contracts, on the CPU and on GPUs.
#include <gtest/gtest.h>

#include "compiler/onnx/model/onnx_model.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/conformance/operator_forms.h"
#include "tests/sanitizer.h"
#include "tvm-vm/compiler.h"

namespace tvmvm {
namespace {

std::shared_ptr<const Program> Compiled(const OperatorForm& form) {
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  options.devices = {"vulkan", "opencl", "cpu"};
  options.prefer_gpu = true;
  for (DType type : {DType::kF32, DType::kI64, DType::kU8, DType::kBool, DType::kString}) {
    const std::string model = ModelOf(form, {type});
    if (auto compiled = GetCompiler().CompileBytes(ir::BytesOf(model), options)) return compiled->program;
  }
  return nullptr;
}

TEST(KernelContracts, AllHaveThem) {
  int index = 0, kernels[kDeviceClassCount] = {};
  for (const OperatorForm& form : ReadOperatorForms()) {
    if (kSanitized && index++ % 12 != 0) continue;
    const std::shared_ptr<const Program> program = Compiled(form);
    if (program == nullptr) continue;
    for (const KernelSpec& kernel : program->kernels) {
      ++kernels[static_cast<size_t>(kernel.device)];
      EXPECT_NE(kernel.contract, "") << kernel.name << ": " << form.text;
    }
  }
  for (const DeviceClass device : {DeviceClass::kCpu, DeviceClass::kGpu})
    EXPECT_GT(kernels[static_cast<size_t>(device)], kSanitized ? 40 : 700);
}

}  // namespace
}  // namespace tvmvm
