#include "tvm-vm/vm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/vm/test_kernels.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT: tvmvm::testing, the kernels of these tests
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AddTwo : public ::testing::Test {
 protected:
  void SetUp() override {
    Builder builder;
    BuildAddTwo(builder);
    auto vm = MakeVm(builder);
    ASSERT_TRUE(vm) << vm.error().message;
    vm_ = *vm;
  }
  std::shared_ptr<Vm> vm_;
};

TEST_F(AddTwo, GivesNewOutputs) {
  Invocation invocation = vm_->NewInvocation();
  std::array inputs{Floats({1, 2, 3})};
  std::array outputs{Tensor()};
  Status status = invocation.Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(outputs[0].shape(), Shape{3});
  EXPECT_THAT(ToFloats(outputs[0]), ElementsAre(3, 4, 5));
}

TEST_F(AddTwo, OutputsOutliveTheInvocation) {
  std::array outputs{Tensor()};
  {
    Invocation invocation = vm_->NewInvocation();
    ASSERT_TRUE(invocation.Run(std::array{Floats({1})}, outputs));
    std::array again{Tensor()};
    ASSERT_TRUE(invocation.Run(std::array{Floats({10})}, again));
  }
  EXPECT_THAT(ToFloats(outputs[0]), ElementsAre(3));
}

TEST_F(AddTwo, WritesIntoTheCallersMemory) {
  Invocation invocation = vm_->NewInvocation();
  alignas(64) float memory[4] = {};
  std::array outputs{Tensor::Borrow(DType::kF32, Shape{4}, memory)};
  Status status = invocation.Run(std::array{Floats({1, 2, 3, 4})}, outputs);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(outputs[0].data(), memory);
  EXPECT_THAT(memory, ElementsAre(3, 4, 5, 6));
}

TEST_F(AddTwo, ServesMemoryAtOddAddresses) {
  Invocation invocation = vm_->NewInvocation();
  alignas(64) char in[32] = {}, out[32] = {};
  const float values[3] = {1, 2, 3};
  std::memcpy(in + 1, values, sizeof values);
  std::array inputs{Tensor::Borrow(DType::kF32, Shape{3}, in + 1)};
  std::array outputs{Tensor::Borrow(DType::kF32, Shape{3}, out + 3)};
  Status status = invocation.Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  float results[3];
  std::memcpy(results, out + 3, sizeof results);
  EXPECT_THAT(results, ElementsAre(3, 4, 5));
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(out[15], 0);
}

TEST_F(AddTwo, TakesTensorsWithoutElements) {
  Invocation invocation = vm_->NewInvocation();
  std::array inputs{Tensor::Borrow(DType::kF32, Shape{0}, nullptr)};
  std::array outputs{Tensor()};
  Status status = invocation.Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(outputs[0].element_count(), 0);
  EXPECT_NE(outputs[0].data(), nullptr);
}

TEST_F(AddTwo, RefusesOutputMemoryOfAnotherShape) {
  Invocation invocation = vm_->NewInvocation();
  std::array outputs{*Tensor::Allocate(DType::kF32, Shape{5})};
  Status status = invocation.Run(std::array{Floats({1, 2})}, outputs);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(status.error().message,
              HasSubstr("output 0 'y': memory for shape [5] given, the result has [2]"));
  // The Invocation works on.
  std::array fresh{Tensor()};
  EXPECT_TRUE(invocation.Run(std::array{Floats({1, 2})}, fresh));
}

TEST_F(AddTwo, RefusesOutputMemoryOfAnotherType) {
  Invocation invocation = vm_->NewInvocation();
  std::array outputs{*Tensor::Allocate(DType::kI32, Shape{2})};
  Status status = invocation.Run(std::array{Floats({1, 2})}, outputs);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("memory for i32 given, the result is f32"));
}

TEST_F(AddTwo, HoldsAnArenaAndGivesItBack) {
  Invocation invocation = vm_->NewInvocation();
  std::array outputs{Tensor()};
  ASSERT_TRUE(invocation.Run(std::array{Floats(std::vector<float>(1000))}, outputs));
  EXPECT_EQ(invocation.arena_bytes(), 4032);  // 4000 in whole lines
  EXPECT_EQ(invocation.peak_bytes(), 8000);   // arena and output
  invocation.Trim();
  EXPECT_EQ(invocation.arena_bytes(), 0);
  std::array small{Tensor()};
  ASSERT_TRUE(invocation.Run(std::array{Floats({1})}, small));
  EXPECT_EQ(invocation.arena_bytes(), 64);
}

TEST(Vm, SaysWhatIsMissingWhenNoLibraryFits) {
  Builder builder;
  BuildAddTwo(builder);
  auto vm = MakeVm(builder, VmOptions{});
  ASSERT_FALSE(vm);
  EXPECT_EQ(vm.error().code, Code::kUnsupported);
  EXPECT_THAT(vm.error().message, HasSubstr("the program holds CPU kernels as host bitcode"));
  EXPECT_THAT(vm.error().message, HasSubstr("there is no JIT"));
}

TEST(Vm, NamesTheFormOfTheKernels) {
  Builder builder;
  BuildAddTwo(builder);
  auto vm = MakeVm(builder);
  ASSERT_TRUE(vm);
  EXPECT_THAT((*vm)->KernelDescriptions(), ElementsAre("jit (host)"));
}

}  // namespace
}  // namespace tvmvm
