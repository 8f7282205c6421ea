// Indices out of range: the kernel that looks at them ends the call, where they are read and nowhere else, on
// the CPU and on GPUs.
#include <gmock/gmock.h>

#include <cstring>

#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kInBranch = R"MODEL(symbol n: [0, inf] input
symbol k: [0, inf] input
symbol c: [0, 1]
func @main {
  input "x" = %0: tensor<f32,[n,4]>
  input "i" = %1: tensor<i64,[k]>
  input "c" = %2: tensor<bool,[]>
  define_dims(%2) {symbols = strings["c"]}
  %7: tensor<i64,[k]> = add(%1, %1)
  %3: tensor<f32,[k,4]> = if() {condition = dim(c), else_values = dims[], symbols = strings[], then_values = dims[]} from "it (If)"(){
  check_indices(% 7){sizes = dims[n]} from "rows (Gather)" % 4 : tensor<f32, [ k, 4 ]> =
      gather(% 0, % 7){axis = 0} from "rows (Gather)" yield % 4
}(){
  % 5 : tensor<f32, []> = constant(){data = dense<f32, []>[1]} % 6 : tensor<f32, [ k, 4 ]> =
                              expand(% 5){dims = dims[k, 4]} yield % 6
} output "y" = % 3
}
)MODEL";

// Walks from place to place, t times; `always` is looked at in each step.
constexpr std::string_view kWalk = R"MODEL(symbol n: [0, inf] input
symbol t: [0, inf] input
symbol j: [0, inf]
func @main {
  input "next" = %0: tensor<i64,[n]>
  input "at" = %1: tensor<i64,[1]>
  input "always" = %2: tensor<i32,[2,3]>
  input "steps" = %3: tensor<f32,[t]>
  %4: tensor<i64,[1]> = loop(%1) {continue = dim(1), count = "", finals = strings[], index = "j", initial = dims[], next = dims[], start = dim(1), symbols = strings[], trip = dim(t)} from "loop (Loop)" (%5: tensor<i64,[1]>) {
    check_indices(%2) {sizes = dims[5, 6, 7]} from "always (GatherND)"
    check_indices(%5) {sizes = dims[n]} from "walk (Gather)"
    %6: tensor<i64,[1]> = gather(%0, %5) {axis = 0} from "walk (Gather)"
    yield %6
  }
  output "end" = %4
}
)MODEL";

template <class T>
Tensor List(DType dtype, std::vector<int64_t> dims, std::vector<T> values) {
  Tensor tensor = *Tensor::Allocate(dtype, Shape(dims));
  if (!values.empty()) std::memcpy(tensor.data(), values.data(), values.size() * sizeof(T));
  return tensor;
}
Tensor Longs(std::vector<int64_t> values) {
  return List(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

class IndexCheckOn : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_cpu()) return;
    auto device = OpenDevice(GetParam(), {});
    if (!device) TVMVM_SKIP_WITHOUT(GetParam(), device.error().message);
    device_ = *device;
  }
  bool is_cpu() const { return std::string_view(GetParam()) == "cpu"; }

  void Compile(std::string_view text) {
    CompileOptions options;
    options.targets = {"host"};
    options.prefer_gpu = true;
    if (!is_cpu()) options.devices = {GetParam(), "cpu"};
    auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
    ASSERT_TRUE(compiled) << compiled.error().message;
    VmOptions vm{.threads = 1};
    if (device_) vm.devices = {device_};
    vm_ = *Vm::Create(compiled->program, vm);
  }

  // The error, or "".
  std::string Run(const std::vector<Tensor>& inputs) {
    outputs_.assign(1, Tensor());
    Status status = vm_->NewInvocation().Run(inputs, outputs_);
    return status ? "" : status.error().message;
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Vm> vm_;
  std::vector<Tensor> outputs_;
};

TEST_P(IndexCheckOn, ABranchThatIsNotTakenChecksNothing) {
  Compile(kInBranch);
  std::vector<float> rows(40);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  const Tensor x = List(DType::kF32, {10, 4}, rows);
  auto flag = [](bool value) { return List(DType::kBool, {}, std::vector<char>{value}); };
  EXPECT_EQ(Run({x, Longs({1, 100}), flag(false)}), "");
  EXPECT_EQ(Run({x, Longs({1, -5, 4}), flag(true)}), "");
  EXPECT_EQ(static_cast<const float*>(outputs_[0].data())[4], 0);
  EXPECT_EQ(static_cast<const float*>(outputs_[0].data())[8], 32);
  EXPECT_THAT(Run({x, Longs({1, 4, 5}), flag(true)}),
              AllOf(HasSubstr("index 10 is out of range [-"), HasSubstr("(node rows (Gather))")));
  EXPECT_THAT(Run({x, Longs({1, -6}), flag(true)}), HasSubstr("index -12 is out of range"));
  EXPECT_THAT(Run({x, Longs({int64_t{1} << 50}), flag(true)}), HasSubstr("or more is out of range"));
  EXPECT_EQ(Run({x, Longs({0}), flag(true)}), "") << "a failure leaves nothing behind";
}

TEST_P(IndexCheckOn, LoopsCheckInTheStepsThatThereAre) {
  Compile(kWalk);
  auto steps = [](int64_t count) {
    return List(DType::kF32, {count}, std::vector<float>(static_cast<size_t>(count)));
  };
  auto always = [](int32_t last) {
    return List(DType::kI32, {2, 3}, std::vector<int32_t>{0, -6, 0, 4, 5, last});
  };
  const Tensor next = Longs({1, 2, 3, -1, 9});
  EXPECT_EQ(Run({next, Longs({0}), always(6), steps(4)}), "");
  EXPECT_EQ(static_cast<const int64_t*>(outputs_[0].data())[0], -1);
  EXPECT_EQ(Run({next, Longs({0}), always(6), steps(5)}), "");
  EXPECT_THAT(Run({next, Longs({0}), always(6), steps(6)}),
              AllOf(HasSubstr("index 9 is out of range"), HasSubstr("walk (Gather)")));
  EXPECT_THAT(Run({next, Longs({0}), always(7), steps(1)}), HasSubstr("index 7 is out of range [-7, 7)"));
  EXPECT_EQ(Run({next, Longs({100}), always(7), steps(0)}), "");
}

TEST(IndexCheck, ALoopThatGathersIsOneKernel) {
  CompileOptions options;
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(kWalk)), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_EQ(compiled->program->kernels.size(), 1u);
  EXPECT_THAT(compiled->program->kernels[0].name, HasSubstr("loop"));
  EXPECT_EQ(compiled->program->kernels[0].error_messages.size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Devices, IndexCheckOn, testing::Values("cpu", "opencl", "vulkan"),
                         [](const testing::TestParamInfo<const char*>& device) { return device.param; });

}  // namespace
}  // namespace tvmvm
