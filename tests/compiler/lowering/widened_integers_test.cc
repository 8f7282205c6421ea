// Integers that become i64 in a kernel and are compared with constants there. Mesa 22.3 gets such comparisons
// wrong where it recognises them.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

// One comparison in one kernel: drivers may recognise fewer of them among others.
std::string Text(const std::string& type, const std::string& comparison) {
  return "symbol n: [0, inf] input\nfunc @main {\n  input \"x\" = %0: tensor<" + type + R"(,[n]>
  %1: tensor<i64,[n]> = cast(%0) {to = i64}
  %2: tensor<i64,[]> = constant() {data = dense<i64,[]>[5]}
  %3: tensor<bool,[n]> = )" +
         comparison + "\n  output \"y\" = %3\n}\n";
}

class WidenedIntegers : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = OpenDevice(GetParam(), {});
    if (!device) TVMVM_SKIP_WITHOUT(GetParam(), device.error().message);
    device_ = *device;
  }

  template <class T>
  void Check(const char* type, DType dtype, const char* comparison, bool (*wanted)(int64_t x)) {
    SCOPED_TRACE(std::string(type) + " " + comparison);
    const std::string text = Text(type, comparison);
    CompileOptions options;
    options.devices = {GetParam(), "cpu"};
    options.prefer_gpu = true;
    options.strict = true;
    options.targets = {"host"};
    auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
    ASSERT_TRUE(compiled) << compiled.error().message;
    VmOptions vm_options{.threads = 1};
    vm_options.devices = {device_};
    auto vm = Vm::Create(compiled->program, vm_options);
    ASSERT_TRUE(vm) << vm.error().message;
    T x[] = {std::numeric_limits<T>::min(), -3, -1, 0, 1, 5, 6, std::numeric_limits<T>::max()};
    std::vector<Tensor> inputs{Tensor::Borrow(dtype, {std::ssize(x)}, x)}, outputs(1);
    Status status = (*vm)->NewInvocation().Run(inputs, outputs);
    ASSERT_TRUE(status) << status.error().message;
    for (size_t i = 0; i < std::size(x); ++i)
      EXPECT_EQ(static_cast<const bool*>(outputs[0].data())[i], wanted(x[i])) << +x[i];
  }
  template <class T>
  void CheckAll(const char* type, DType dtype) {
    Check<T>(type, dtype, "less(%1, %2)", [](int64_t x) { return x < 5; });
    Check<T>(type, dtype, "less(%2, %1)", [](int64_t x) { return 5 < x; });
    Check<T>(type, dtype, "less_equal(%1, %2)", [](int64_t x) { return x <= 5; });
    Check<T>(type, dtype, "less_equal(%2, %1)", [](int64_t x) { return 5 <= x; });
  }

  std::shared_ptr<Device> device_;
};

TEST_P(WidenedIntegers, AreComparedWithConstants) {
  CheckAll<int8_t>("i8", DType::kI8);
  CheckAll<int16_t>("i16", DType::kI16);
  CheckAll<int32_t>("i32", DType::kI32);
}

INSTANTIATE_TEST_SUITE_P(Devices, WidenedIntegers, testing::Values("opencl", "vulkan"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tvmvm
