// Kernels that stand in two forms in a program: a device that takes the better one, and one that runs the
// other, give what the CPU gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bytecode/spirv_library.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

constexpr int64_t kRows = 5;

// Reductions of each kind, and a softmax, along M elements.
const char kReductions[] = R"(symbol n: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,M]>
  %1: tensor<f32,[n,M]> = tanh(%0)
  %2: tensor<f32,[n,1]> = reduce(%1) {flags = dims[0, 1], kind = "max", select_last = 0}
  %3: tensor<f32,[n,M]> = sub(%1, %2)
  %4: tensor<f32,[n,M]> = exp(%3)
  %5: tensor<f32,[n,1]> = reduce(%4) {flags = dims[0, 1], kind = "sum", select_last = 0}
  %6: tensor<f32,[n,M]> = div(%4, %5)
  %7: tensor<f32,[n,1]> = reduce(%0) {flags = dims[0, 1], kind = "min", select_last = 0}
  %8: tensor<f32,[n,1]> = reduce(%0) {flags = dims[0, 1], kind = "product", select_last = 0}
  %9: tensor<i32,[n,M]> = cast(%0) {to = i32}
  %10: tensor<i32,[n,1]> = reduce(%9) {flags = dims[0, 1], kind = "max", select_last = 0}
  output "softmax" = %6
  output "least" = %7
  output "product" = %8
  output "largest" = %10
}
)";

std::shared_ptr<const Program> Compiled(const std::string& device, int64_t length) {
  std::string text = kReductions;
  for (size_t at = text.find('M'); at != std::string::npos; at = text.find('M'))
    text.replace(at, 1, std::to_string(length));
  CompileOptions options;
  options.devices = {device, "cpu"};
  options.prefer_gpu = true;
  options.strict = device != "cpu";
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? compiled->program : nullptr;
}

// Numbers around 1, and a row with NaN.
std::vector<float> Input(int64_t length) {
  std::vector<float> x(static_cast<size_t>(kRows * length));
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1 + 0.01f * (static_cast<float>(i * 37 % 101) - 47);
  x[static_cast<size_t>(length) + 333] = NAN;
  return x;
}

std::vector<std::vector<double>> OutputsOf(const std::shared_ptr<const Program>& program,
                                           const std::shared_ptr<Device>& gpu, int64_t length) {
  VmOptions options{.threads = 1};
  if (gpu != nullptr) options.devices = {gpu};
  auto vm = Vm::Create(program, options);
  EXPECT_TRUE(vm) << vm.error().message;
  if (!vm) return {};
  std::vector<float> x = Input(length);
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kF32, {kRows, length}, x.data())}, outputs(4);
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  EXPECT_TRUE(status) << status.error().message;
  std::vector<std::vector<double>> all;
  for (const Tensor& output : outputs) {
    all.emplace_back();
    for (int64_t i = 0; status && i < output.element_count(); ++i)
      all.back().push_back(output.dtype() == DType::kI32 ? static_cast<const int32_t*>(output.data())[i]
                                                         : static_cast<const float*>(output.data())[i]);
  }
  return all;
}

void ExpectClose(const std::vector<std::vector<double>>& got, const std::vector<std::vector<double>>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got[k].size(), want[k].size());
    for (size_t i = 0; i < want[k].size(); ++i) {
      if (std::isnan(want[k][i])) {
        EXPECT_TRUE(std::isnan(got[k][i])) << "output " << k << " element " << i << " is " << got[k][i];
      } else {
        EXPECT_NEAR(got[k][i], want[k][i], 1e-4 * std::abs(want[k][i])) << "output " << k << " element " << i;
      }
    }
  }
}

// Renames the alternatives of a program's kernels, so that no device finds them; gives how many there were.
int HideAlternatives(const Program& program) {
  int count = 0;
  for (const KernelLibrarySpec& library : program.libraries) {
    if (library.form != KernelForm::kSpirV) continue;
    std::span bytes(const_cast<std::byte*>(library.bytes.data()), library.bytes.size());
    for (const std::string_view name : kSpirvAlternatives) {
      auto pattern = std::as_bytes(std::span(name));
      for (auto at = bytes.begin();; ++count) {
        at = std::search(at, bytes.end(), pattern.begin(), pattern.end());
        if (at == bytes.end()) break;
        at[static_cast<ptrdiff_t>(name.size()) - 1] = std::byte{'~'};
      }
    }
  }
  return count;
}

// Of rows that a group takes, and of longer ones, which several groups share.
TEST(KernelForms, GiveTheSame) {
  auto device = OpenDevice("vulkan", DeviceOptions());
  if (!device) TVMVM_SKIP_WITHOUT("vulkan", device.error().message);
  for (int64_t length : {700, 20'000}) {
    SCOPED_TRACE(length);
    const std::shared_ptr<const Program> cpu = Compiled("cpu", length), better = Compiled("vulkan", length),
                                         base = Compiled("vulkan", length);
    ASSERT_TRUE(cpu && better && base);
    const auto wanted = OutputsOf(cpu, nullptr, length);
    {
      SCOPED_TRACE("what the device takes");
      ExpectClose(OutputsOf(better, *device, length), wanted);
    }
    EXPECT_GE(HideAlternatives(*base), 3) << "kernels that subgroups can do";
    SCOPED_TRACE("what runs everywhere");
    ExpectClose(OutputsOf(base, *device, length), wanted);
  }
}

}  // namespace
}  // namespace tvmvm
