// Recursive functions and trees in the graph IR's text form: calls use frames of the heap, so that depth is
// bounded by a setting and not by the machine's stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compiler.h"
#include "vm/vm.h"

namespace tvmvm {
namespace {

// A leaf is (0: number), a node is (1: left, right).
constexpr const char* kSumOfTree = R"(
symbol tag: [-inf, inf]
func @main {
  input "tree" = %0: tuple<>
  %1: tensor<f32,[]> = call(%0) {callee = "sum"}
  output "sum" = %1
}
func @sum {
  input "tree" = %0: tuple<>
  tuple.tag(%0) {symbols = strings["tag"]}
  %1: tensor<f32,[]> = if() {condition = dim(tag), else_values = dims[], symbols = strings[], then_values = dims[]} () {
    %2: tuple<> = tuple.get(%0) {scalars = dims[0]}
    %3: tuple<> = tuple.get(%0) {scalars = dims[1]}
    %4: tensor<f32,[]> = call(%2) {callee = "sum"}
    %5: tensor<f32,[]> = call(%3) {callee = "sum"}
    %6: tensor<f32,[]> = add(%4, %5)
    yield %6
  } () {
    %7: tensor<f32,[]> = tuple.get(%0) {scalars = dims[0]}
    yield %7
  }
  output "sum" = %1
}
)";

// Counts down from the input; each step is a call.
constexpr const char* kCountDown = R"(
symbol n: [-inf, inf]
func @main {
  input "n" = %0: tensor<i64,[]>
  %1: tensor<i64,[]> = call(%0) {callee = "down"}
  output "steps" = %1
}
func @down {
  input "n" = %0: tensor<i64,[]>
  define_dims(%0) {symbols = strings["n"]}
  %1: tensor<i64,[]> = constant() {data = dense<i64,[]>[1]}
  %2: tensor<i64,[]> = if() {condition = dim(lt(0, n)), else_values = dims[], symbols = strings[], then_values = dims[]} () {
    %3: tensor<i64,[]> = sub(%0, %1)
    %4: tensor<i64,[]> = call(%3) {callee = "down"}
    %5: tensor<i64,[]> = add(%4, %1)
    yield %5
  } () {
    yield %0
  }
  output "steps" = %2
}
)";

class Recursion : public testing::Test {
 protected:
  void Compile(std::string_view text) {
    CompileOptions options;
    options.targets = {"x86-64-v3"};
    auto result = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
    ASSERT_TRUE(result) << result.error().message;
    auto vm = Vm::Create(result->program, {.threads = 1});
    ASSERT_TRUE(vm) << vm.error().message;
    vm_ = *vm;
  }

  static Value Number(float number) {
    Tensor tensor = *Tensor::Allocate(DType::kF32, {});
    *static_cast<float*>(tensor.data()) = number;
    return tensor;
  }

  static Value Leaf(float number) { return Value::Tuple(0, {Number(number)}); }
  static Value Node(Value left, Value right) { return Value::Tuple(1, {std::move(left), std::move(right)}); }

  static Value Balanced(int depth) {
    return depth == 0 ? Leaf(1) : Node(Balanced(depth - 1), Balanced(depth - 1));
  }

  // The sum, or the error.
  std::string Sum(const Value& tree) {
    Invocation invocation = vm_->NewInvocation();
    std::vector<Value> inputs{tree}, outputs(1);
    if (Status status = invocation.Run(inputs, outputs); !status) return status.error().message;
    return std::to_string(static_cast<int>(*static_cast<float*>(outputs[0].tensor().data())));
  }

  std::string CountDown(int64_t from, const Limits& limits) {
    Invocation invocation = vm_->NewInvocation();
    invocation.SetLimits(limits);
    std::vector<Tensor> inputs{Tensor::Borrow(DType::kI64, {}, &from)}, outputs(1);
    if (Status status = invocation.Run(inputs, outputs); !status) return status.error().message;
    return std::to_string(*static_cast<int64_t*>(outputs[0].data()));
  }

  std::shared_ptr<Vm> vm_;
};

TEST_F(Recursion, SumsABalancedTree) {
  ASSERT_NO_FATAL_FAILURE(Compile(kSumOfTree));
  EXPECT_EQ(Sum(Leaf(7)), "7");
  EXPECT_EQ(Sum(Balanced(13)), "8192");  // 16,383 nodes
}

TEST_F(Recursion, SumsATreeThatIsAChain) {
  ASSERT_NO_FATAL_FAILURE(Compile(kSumOfTree));
  Value tree = Leaf(1);
  for (int i = 0; i < 5000; ++i) tree = i % 2 ? Node(tree, Leaf(1)) : Node(Leaf(1), tree);
  EXPECT_EQ(Sum(tree), "5001");
}

TEST_F(Recursion, GoesAHundredThousandDeepAndToTheLimit) {
  ASSERT_NO_FATAL_FAILURE(Compile(kCountDown));
  EXPECT_EQ(CountDown(3, {}), "3");
  EXPECT_EQ(CountDown(100'000, {}), "100000");
  Limits limits;
  limits.max_call_depth = 1000;
  EXPECT_THAT(CountDown(100'000, limits), testing::HasSubstr("the limit of 1000 nested calls is reached"));
  EXPECT_EQ(CountDown(900, limits), "900");
}

}  // namespace
}  // namespace tvmvm
