// Integers that become i64 in a kernel and are compared with constants there. Mesa 22.3 gets such comparisons
// wrong where it recognises them.
#include <gtest/gtest.h>

#include <limits>

#include "compiler/compiler.h"
#include "devices/device_list.h"
#include "vm/vm.h"

namespace tvmvm {
namespace {

// Which x are below 5, not above -2, above 5; and x with -1 standing for the last of seven.
std::string Text(const std::string& type) {
  std::string text = R"(symbol n: [0, inf] input
func @main {
  input "x" = %0: tensor<TYPE,[n]>
  %1: tensor<i64,[n]> = cast(%0) {to = i64}
  %2: tensor<i64,[]> = constant() {data = dense<i64,[]>[5]}
  %3: tensor<i64,[]> = constant() {data = dense<i64,[]>[-2]}
  %4: tensor<i64,[]> = constant() {data = dense<i64,[]>[0]}
  %5: tensor<i64,[]> = constant() {data = dense<i64,[]>[7]}
  %6: tensor<bool,[n]> = less(%1, %2)
  %7: tensor<bool,[n]> = less_equal(%1, %3)
  %8: tensor<bool,[n]> = less(%2, %1)
  %9: tensor<bool,[n]> = less(%1, %4)
  %10: tensor<i64,[n]> = add(%1, %5)
  %11: tensor<i64,[n]> = where(%9, %10, %1)
  output "below" = %6
  output "not above" = %7
  output "above" = %8
  output "counted" = %11
}
)";
  return text.replace(text.find("TYPE"), 4, type);
}

class WidenedIntegers : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = OpenDevice(GetParam(), {});
    if (!device) GTEST_SKIP() << device.error().message;
    device_ = *device;
  }

  template <class T>
  void Check(const char* type, DType dtype) {
    SCOPED_TRACE(type);
    const std::string text = Text(type);
    CompileOptions options;
    options.devices = {GetParam(), "cpu"};
    options.strict = true;
    options.targets = {"host"};
    auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
    ASSERT_TRUE(compiled) << compiled.error().message;
    VmOptions vm_options{.threads = 1};
    vm_options.devices = {device_};
    auto vm = Vm::Create(compiled->program, vm_options);
    ASSERT_TRUE(vm) << vm.error().message;
    T x[] = {std::numeric_limits<T>::min(), -3, -2, -1, 0, 1, 5, 6, std::numeric_limits<T>::max()};
    std::vector<Tensor> inputs{Tensor::Borrow(dtype, {std::ssize(x)}, x)}, outputs(4);
    Status status = (*vm)->NewInvocation().Run(inputs, outputs);
    ASSERT_TRUE(status) << status.error().message;
    for (size_t i = 0; i < std::size(x); ++i) {
      auto is = [&](size_t output) { return static_cast<const bool*>(outputs[output].data())[i]; };
      EXPECT_EQ(is(0), x[i] < 5) << +x[i];
      EXPECT_EQ(is(1), x[i] <= -2) << +x[i];
      EXPECT_EQ(is(2), 5 < x[i]) << +x[i];
      EXPECT_EQ(static_cast<const int64_t*>(outputs[3].data())[i], x[i] < 0 ? int64_t{x[i]} + 7 : x[i]);
    }
  }

  std::shared_ptr<Device> device_;
};

TEST_P(WidenedIntegers, AreComparedWithConstants) {
  Check<int8_t>("i8", DType::kI8);
  Check<int16_t>("i16", DType::kI16);
  Check<int32_t>("i32", DType::kI32);
}

INSTANTIATE_TEST_SUITE_P(Devices, WidenedIntegers, testing::Values("opencl", "vulkan"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tvmvm
