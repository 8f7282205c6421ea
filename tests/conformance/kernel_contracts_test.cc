// Kernels have contracts, on the CPU and on GPUs, but for those named here.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <set>

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

// What has none: indices that memory tells and that the kernel itself does not bring between bounds.
constexpr std::string_view kWithout[] = {
    "compact",      // counts what it has found
    "determinant",  // rows in the order of pivots
    "inverse",      // as determinant
};

TEST(KernelContracts, AllHaveThemButThese) {
  std::set<std::string_view> found;
  int index = 0, kernels[kDeviceClassCount] = {}, without[kDeviceClassCount] = {};
  for (const OperatorForm& form : ReadOperatorForms()) {
    if (kSanitized && index++ % 12 != 0) continue;
    const std::shared_ptr<const Program> program = Compiled(form);
    if (program == nullptr) continue;
    for (const KernelSpec& kernel : program->kernels) {
      const auto device = static_cast<size_t>(kernel.device);
      ++kernels[device];
      if (!kernel.contract.empty()) continue;
      ++without[device];
      const auto named = std::ranges::find_if(
          kWithout, [&](std::string_view name) { return kernel.name.find(name) != std::string::npos; });
      EXPECT_NE(named, std::end(kWithout)) << kernel.name << ": " << form.text;
      if (named != std::end(kWithout)) found.insert(*named);
    }
  }
  if (!kSanitized) {
    EXPECT_THAT(found, testing::UnorderedElementsAreArray(kWithout)) << "names that nothing needs";
  }
  for (const DeviceClass device : {DeviceClass::kCpu, DeviceClass::kGpu}) {
    const auto d = static_cast<size_t>(device);
    EXPECT_GT(kernels[d], kSanitized ? 40 : 700);
    EXPECT_LT(without[d] * 25, kernels[d]) << without[d] << " of " << kernels[d];
  }
}

}  // namespace
}  // namespace tvmvm
