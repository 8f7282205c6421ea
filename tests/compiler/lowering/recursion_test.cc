// Recursive functions and trees in the graph IR's text form: calls use frames of the heap, so that depth is
// bounded by a setting and not by the machine's stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

constexpr const char* kSumOfTree = R"(
type Tree = Leaf(tensor<f32,[]>) | Node(Tree, Tree)
func @main {
  input "tree" = %0: Tree
  %1: tensor<f32,[]> = call(%0) {callee = "sum"}
  output "sum" = %1
}
func @sum {
  input "tree" = %0: Tree
  %1: tensor<f32,[]> = match(%0) Node(%2, %3) {
    %4: tensor<f32,[]> = call(%2) {callee = "sum"}
    %5: tensor<f32,[]> = call(%3) {callee = "sum"}
    %6: tensor<f32,[]> = add(%4, %5)
    yield %6
  } Leaf(%7) {
    yield %7
  }
  output "sum" = %1
}
)";

// Expressions with three constructors: evaluates one, and gives it back with every Neg(x) as Add(x, x).
constexpr const char* kExpressions = R"(
type Expr = Number(tensor<f32,[?]>) | Neg(Expr) | Add(Expr, Expr)
symbol n: [0, 1000]
func @main {
  input "e" = %0: Expr
  %1: Expr = call(%0) {callee = "rewrite"}
  output "rewritten" = %1
}
func @rewrite {
  input "e" = %0: Expr
  %1: Expr = match(%0) Number(%2) {
    %3: Expr = Number(%2)
    yield %3
  } Neg(%4) {
    %5: Expr = call(%4) {callee = "rewrite"}
    %6: Expr = Add(%5, %5)
    yield %6
  } Add(%7, %8) {
    %9: Expr = call(%7) {callee = "rewrite"}
    %10: Expr = call(%8) {callee = "rewrite"}
    %11: Expr = Add(%9, %10)
    yield %11
  }
  output "rewritten" = %1
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

TEST_F(Recursion, TreesThatLieAreErrors) {
  ASSERT_NO_FATAL_FAILURE(Compile(kSumOfTree));
  int64_t wide = 1;
  float list[2] = {1, 2};
  Value lies[] = {Value::Tuple(0, {Tensor::Borrow(DType::kI64, {}, &wide)}),
                  Value::Tuple(0, {Tensor::Borrow(DType::kF32, {2}, list)}),
                  Value::Tuple(0, {}),
                  Value::Tuple(0, {Leaf(1)}),
                  Value::Tuple(1, {Leaf(1)}),
                  Value::Tuple(1, {Number(1), Number(1)}),
                  Value::Tuple(2, {}),
                  Value::Tuple(-1, {Number(1)})};
  for (const Value& lie : lies) {
    EXPECT_THAT(Sum(lie), testing::StartsWith("@sum:"));
    EXPECT_THAT(Sum(Node(Leaf(1), lie)), testing::StartsWith("@sum:"));
  }
  EXPECT_THAT(Sum(Value::Tuple(2, {})), testing::HasSubstr("a tuple with the tag 2, want one below 2"));
  EXPECT_EQ(Sum(Node(Leaf(1), Leaf(2))), "3");
}

TEST_F(Recursion, RewritesAnExpression) {
  ASSERT_NO_FATAL_FAILURE(Compile(kExpressions));
  float numbers[3] = {1, 2, 3};
  Value number = Value::Tuple(0, {Tensor::Borrow(DType::kF32, {3}, numbers)});
  std::vector<Value> inputs{Value::Tuple(1, {Value::Tuple(1, {number})})}, outputs(1);
  Invocation invocation = vm_->NewInvocation();
  ASSERT_TRUE(invocation.Run(inputs, outputs));
  const Value& sum = outputs[0];
  EXPECT_EQ(sum.tag(), 2);
  EXPECT_EQ(sum.elements()[1].tag(), 2);
  const Value& leaf = sum.elements()[1].elements()[0];
  EXPECT_EQ(leaf.tag(), 0);
  EXPECT_EQ(leaf.elements()[0].tensor().shape(), Shape({3}));
  EXPECT_EQ(static_cast<const float*>(leaf.elements()[0].tensor().data())[2], 3);
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
