// Values whose rank only running tells: a branch for each rank, and constants that only some of them read.
#include <gtest/gtest.h>

#include "tests/compiler/lowering/compiled_graph.h"

namespace tvmvm {
namespace {

// A tensor type that has an element type alone.
std::string UnrankedType(DType dtype) {
  return ir::Message([&](auto& type) {
    type.add_message(1, ir::Message([&](auto& tensor) { tensor.add_int32(1, DTypeToOnnx(dtype)); }));
  });
}

TEST(UnknownRank, BranchesGiveConstants) {
  ir::GraphText graph;
  graph.nodes = {{"ConstantOfShape", {"shape"}, {"filled"}}, {"Flatten", {"filled"}, {"flat"}}};
  graph.inputs = {ir::ValueMessage("shape", ir::kOnnxInt64, {"n"})};
  graph.outputs = {ir::ValueMessage("flat", ir::kOnnxFloat, {"rows", "columns"})};
  auto vm = CompiledGraph(graph, 20);
  ASSERT_NE(vm, nullptr);
  for (std::vector<int64_t> shape : {std::vector<int64_t>{3}, {2, 3}, {2, 3, 4}}) {
    auto rank = static_cast<int64_t>(shape.size());
    Tensor flat = FirstOutput(*vm, {Tensor::Borrow(DType::kI64, {rank}, shape.data())});
    int64_t columns = rank == 1 ? 1 : rank == 2 ? 3 : 12;
    EXPECT_EQ(flat.shape(), Shape({shape[0], columns}));
  }
}

// The axis is read in the branches of some ranks only, and there it may not matter.
TEST(UnknownRank, BranchesReadAnAxis) {
  ir::GraphText graph;
  graph.nodes = {{"DFT", {"x", "", "axis"}, {"y"}}};
  std::string unranked = UnrankedType(DType::kF64);
  graph.inputs = {ir::ValueOfType("x", unranked), ir::ValueMessage("axis", ir::kOnnxInt64, {})};
  graph.outputs = {ir::ValueOfType("y", unranked)};
  auto vm = CompiledGraph(graph, 20);
  ASSERT_NE(vm, nullptr);
  double x[] = {1, 2, 3, 5};
  int64_t axis = 1;
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kF64, {2, 2, 1}, x),
                             Tensor::Borrow(DType::kI64, {}, &axis)};
  Tensor output = FirstOutput(*vm, std::move(inputs));
  ASSERT_EQ(output.element_count(), 8);
  EXPECT_EQ(output.shape(), Shape({2, 2, 2}));
  const auto* y = static_cast<const double*>(output.data());
  constexpr double kWanted[] = {3, 0, -1, 0, 8, 0, -2, 0};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(y[i], kWanted[i], 1e-12) << i;
}

// Ranks that the operator does not take are no branches; in those that it takes the sizes agree.
TEST(UnknownRank, OperatorsTakeSomeRanksOnly) {
  ir::GraphText graph;
  graph.nodes = {
      {"RotaryEmbedding", {"x", "cosines", "sines", "positions"}, {"y"}, {ir::IntAttribute("num_heads", 2)}}};
  std::string unranked = UnrankedType(DType::kF32);
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {int64_t{1}, int64_t{2}, int64_t{4}}),
                  ir::ValueMessage("cosines", ir::kOnnxFloat, {int64_t{8}, int64_t{1}}),
                  ir::ValueOfType("sines", unranked),
                  ir::ValueMessage("positions", ir::kOnnxInt64, {"n", int64_t{2}})};
  graph.outputs = {ir::ValueOfType("y", unranked)};
  auto vm = CompiledGraph(graph, 24);
  ASSERT_NE(vm, nullptr);
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, cosines[8] = {0, 1, 1, 1, 1, 1, 1, 1},
        sines[8] = {1, 0, 0, 0, 0, 0, 0, 0};
  int64_t positions[2] = {0, 3};  // a quarter turn, none
  std::vector<Tensor> inputs{
      Tensor::Borrow(DType::kF32, {1, 2, 4}, x), Tensor::Borrow(DType::kF32, {8, 1}, cosines),
      Tensor::Borrow(DType::kF32, {8, 1}, sines), Tensor::Borrow(DType::kI64, {1, 2}, positions)};
  Tensor output = FirstOutput(*vm, std::move(inputs));
  ASSERT_EQ(output.element_count(), 8);
  const auto* y = static_cast<const float*>(output.data());
  constexpr float kWanted[] = {-2, 1, -4, 3, 5, 6, 7, 8};
  for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(y[i], kWanted[i]) << i;
}

// ---- the same graph, with and without known ranks ----

struct Inputs {
  std::vector<std::vector<int64_t>> shapes;
};

// A graph of f32 inputs x0, x1, ...; all its outputs are f32.
struct RankCase {
  std::vector<ir::NodeText> nodes;
  std::vector<std::string> outputs;
};

std::string NameOf(size_t input) { return "x" + std::to_string(input); }

std::shared_ptr<Vm> Compiled(const RankCase& wanted, size_t inputs,
                             const std::vector<std::vector<int64_t>>* shapes) {
  ir::GraphText graph;
  graph.nodes = wanted.nodes;
  const std::string unranked = UnrankedType(DType::kF32);
  for (size_t i = 0; i < inputs; ++i)
    graph.inputs.push_back(shapes == nullptr ? ir::ValueOfType(NameOf(i), unranked)
                                             : ir::ValueMessage(NameOf(i), ir::kOnnxFloat,
                                                                {(*shapes)[i].begin(), (*shapes)[i].end()}));
  for (const std::string& output : wanted.outputs) graph.outputs.push_back(ir::ValueOfType(output, unranked));
  return CompiledGraph(graph, 20);
}

std::vector<Tensor> Outputs(Vm& vm, const std::vector<std::vector<int64_t>>& shapes, size_t count) {
  std::vector<Tensor> inputs, outputs(count);
  for (size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(*Tensor::Allocate(DType::kF32, Shape(shapes[i])));
    auto* data = static_cast<float*>(inputs[i].data());
    for (int64_t k = 0; k < inputs[i].element_count(); ++k)
      data[k] = static_cast<float>((k * 7 + static_cast<int64_t>(i) * 5) % 23 - 11) / 8;
  }
  const Status status = vm.NewInvocation().Run(inputs, outputs);
  EXPECT_TRUE(status) << status.error().message;
  return status ? std::move(outputs) : std::vector<Tensor>();
}

// The program that knows no rank gives at each of the shapes what one made for the shape gives.
void ExpectAsRanked(const RankCase& wanted, const std::vector<Inputs>& cases) {
  auto unranked = Compiled(wanted, cases[0].shapes.size(), nullptr);
  ASSERT_NE(unranked, nullptr);
  for (const Inputs& inputs : cases) {
    SCOPED_TRACE("x0 " + Shape(inputs.shapes[0]).ToString());
    auto ranked = Compiled(wanted, inputs.shapes.size(), &inputs.shapes);
    ASSERT_NE(ranked, nullptr);
    const size_t count = wanted.outputs.size();
    const std::vector<Tensor> a = Outputs(*ranked, inputs.shapes, count),
                              b = Outputs(*unranked, inputs.shapes, count);
    ASSERT_EQ(a.size(), count);
    ASSERT_EQ(b.size(), count);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(a[i].shape(), b[i].shape()) << wanted.outputs[i];
      const auto *x = static_cast<const float*>(a[i].data()), *y = static_cast<const float*>(b[i].data());
      for (int64_t k = 0; k < a[i].element_count(); ++k)
        ASSERT_NEAR(x[k], y[k], 1e-5) << wanted.outputs[i] << " at " << k;
    }
  }
}

std::vector<int64_t> ShapeOfRank(int rank) {
  std::vector<int64_t> shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(axis % 3 == 1 ? 3 : 2 - axis / 5);
  return shape;
}

std::vector<Inputs> EachRank(int first, int last) {
  std::vector<Inputs> cases;
  for (int rank = first; rank <= last; ++rank) cases.emplace_back().shapes.push_back(ShapeOfRank(rank));
  return cases;
}

Inputs Two(std::vector<int64_t> a, std::vector<int64_t> b) {
  Inputs inputs;
  inputs.shapes.push_back(std::move(a));
  inputs.shapes.push_back(std::move(b));
  return inputs;
}

TEST(UnknownRank, ElementsAloneNeedNone) {
  const RankCase chain{{{"Relu", {"x0"}, {"a"}},
                        {"Exp", {"a"}, {"b"}},
                        {"Constant", {}, {"two"}, {ir::FloatAttribute("value_float", 2)}},
                        {"Mul", {"b", "two"}, {"c"}},
                        {"Sub", {"c", "x0"}, {"d"}},
                        {"Clip", {"d", "", "two"}, {"y"}}},
                       {"y"}};
  auto vm = Compiled(chain, 1, nullptr);
  ASSERT_NE(vm, nullptr);
  EXPECT_EQ(vm->program().kernels.size(), 1U);
  ExpectAsRanked(chain, EachRank(0, 8));
}

TEST(UnknownRank, AChainIsOneChoice) {
  const RankCase chain{{{"Softmax", {"x0"}, {"a"}},
                        {"Relu", {"a"}, {"b"}},
                        {"Transpose", {"b"}, {"c"}},
                        {"Exp", {"c"}, {"d"}},
                        {"Constant", {}, {"axis"}, {ir::IntsAttribute("value_ints", {-1})}},
                        {"ReduceSum", {"d", "axis"}, {"e"}, {ir::IntAttribute("keepdims", 0)}},
                        {"Tanh", {"e"}, {"y"}}},
                       {"y"}};
  ExpectAsRanked(chain, EachRank(1, 8));
}

// Softmax and the values beside it meet again, and inner values are outputs, too.
TEST(UnknownRank, BranchesOfTheGraph) {
  const RankCase graph{{{"Sigmoid", {"x0"}, {"gate"}},
                        {"Softmax", {"x0"}, {"a"}},
                        {"Mul", {"a", "gate"}, {"b"}},
                        {"Flatten", {"b"}, {"flat"}},
                        {"Transpose", {"flat"}, {"turned"}},
                        {"MatMul", {"flat", "turned"}, {"square"}},
                        {"Add", {"b", "x0"}, {"y"}}},
                       {"y", "square", "gate"}};
  ExpectAsRanked(graph, EachRank(1, 8));
}

TEST(UnknownRank, SeveralInputs) {
  const RankCase graph{{{"Add", {"x0", "x1"}, {"a"}}, {"Softmax", {"a"}, {"b"}}, {"Neg", {"b"}, {"y"}}},
                       {"y"}};
  ExpectAsRanked(graph, {Two({3}, {3}), Two({2, 3}, {3}), Two({3}, {2, 1}), Two({2, 3}, {2, 3}), Two({2}, {}),
                         Two({2, 1, 3}, {4, 1}), Two({1, 2, 1, 2, 1, 2, 1, 2}, {2, 1})});
}

// Axes of which running tells the number: only those of size 1 can go, whatever the sizes of the others.
TEST(UnknownRank, SomeAxesOfAnEmptyTensorGo) {
  ir::GraphText graph;
  graph.nodes = {{"Squeeze", {"x", "axes"}, {"y"}}};
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {int64_t{2}, int64_t{5}, int64_t{1}, int64_t{0}}),
                  ir::ValueMessage("axes", ir::kOnnxInt64, {"k"})};
  graph.outputs = {ir::ValueOfType("y", UnrankedType(DType::kF32))};
  auto vm = CompiledGraph(graph, 20);
  ASSERT_NE(vm, nullptr);
  int64_t axis = 2;
  Tensor y = FirstOutput(
      *vm, {*Tensor::Allocate(DType::kF32, {2, 5, 1, 0}), Tensor::Borrow(DType::kI64, {1}, &axis)});
  EXPECT_EQ(y.shape(), Shape({2, 5, 0}));
}

// Values of several unknown ranks that lie over one another from the right: no branch, so few kernels.
TEST(UnknownRank, OverlaidInputsNeedNoBranches) {
  const RankCase graph{{{"Greater", {"x0", "x1"}, {"more"}},
                        {"Where", {"more", "x0", "x1"}, {"a"}},
                        {"Max", {"a", "x0", "x1"}, {"b"}},
                        {"Pow", {"b", "x1"}, {"p"}},
                        {"Sub", {"a", "b"}, {"y"}}},
                       {"y"}};
  auto vm = Compiled(graph, 2, nullptr);
  ASSERT_NE(vm, nullptr);
  EXPECT_LE(vm->program().kernels.size(), 5U);
  ExpectAsRanked(graph, {Two({3}, {3}), Two({}, {2, 3}), Two({3}, {2, 1}), Two({2, 3}, {}), Two({}, {}),
                         Two({2, 1, 3}, {4, 1}), Two({1, 2, 1, 2, 1, 2, 1, 2}, {2, 1}), Two({0}, {2, 1})});
  std::vector<Tensor> inputs{*Tensor::Allocate(DType::kF32, Shape({2})),
                             *Tensor::Allocate(DType::kF32, Shape({3}))},
      outputs(1);
  EXPECT_FALSE(vm->NewInvocation().Run(inputs, outputs));
}

TEST(UnknownRank, Products) {
  const RankCase graph{{{"MatMul", {"x0", "x1"}, {"y"}}}, {"y"}};
  auto vm = Compiled(graph, 2, nullptr);
  ASSERT_NE(vm, nullptr);
  EXPECT_LE(vm->program().kernels.size(), 8U);
  ExpectAsRanked(graph, {Two({3}, {3}), Two({3}, {3, 2}), Two({2, 3}, {3}), Two({2, 3}, {3, 5}),
                         Two({4, 2, 3}, {3}), Two({3}, {4, 3, 2}), Two({4, 1, 2, 3}, {5, 3, 2}),
                         Two({2, 3}, {2, 1, 2, 1, 1, 1, 3, 4}), Two({2, 1, 2, 1, 1, 1, 3, 4}, {4})});
  std::vector<Tensor> inputs{*Tensor::Allocate(DType::kF32, Shape()),
                             *Tensor::Allocate(DType::kF32, Shape({3}))},
      outputs(1);
  const Status status = vm->NewInvocation().Run(inputs, outputs);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("a product of tensors of rank 0"), std::string::npos)
      << status.error().message;
}

std::string Graph(const ir::GraphText& graph) { return ir::GraphMessage(graph); }

TEST(UnknownRank, InLoopsAndBranches) {
  const std::string unranked = UnrankedType(DType::kF32);
  ir::GraphText body;
  body.nodes = {{"Softmax", {"h"}, {"s"}},
                {"Mul", {"s", "x0"}, {"m"}},
                {"Transpose", {"m"}, {"t"}},
                {"Transpose", {"t"}, {"next"}},
                {"Identity", {"go"}, {"on"}}};
  body.inputs = {ir::ValueMessage("i", ir::kOnnxInt64, {}), ir::ValueMessage("go", ir::kOnnxBool, {}),
                 ir::ValueOfType("h", unranked)};
  body.outputs = {ir::ValueMessage("on", ir::kOnnxBool, {}), ir::ValueOfType("next", unranked)};
  ir::GraphText then_branch, else_branch;
  then_branch.nodes = {{"Hardmax", {"last"}, {"p"}}, {"Add", {"p", "x0"}, {"q"}}};
  then_branch.outputs = {ir::ValueOfType("q", unranked)};
  else_branch.nodes = {{"Neg", {"last"}, {"r"}}};
  else_branch.outputs = {ir::ValueOfType("r", unranked)};
  const RankCase graph{{{"Constant", {}, {"n"}, {ir::IntAttribute("value_int", 3)}},
                        {"Loop", {"n", "", "x0"}, {"last"}, {ir::GraphAttribute("body", Graph(body))}},
                        {"ReduceMax", {"x0"}, {"top"}, {ir::IntAttribute("keepdims", 0)}},
                        {"Cast", {"top"}, {"is"}, {ir::IntAttribute("to", ir::kOnnxBool)}},
                        {"If",
                         {"is"},
                         {"y"},
                         {ir::GraphAttribute("then_branch", Graph(then_branch)),
                          ir::GraphAttribute("else_branch", Graph(else_branch))}}},
                       {"y"}};
  ExpectAsRanked(graph, EachRank(1, 5));
}

// Ranks that one node of several does not take are errors at run time; where no rank is taken, at compile
// time.
TEST(UnknownRank, ErrorsNameTheNode) {
  const RankCase graph{{{"Softmax", {"x0"}, {"a"}, {}, "first"},
                        {"Transpose", {"a"}, {"y"}, {ir::IntsAttribute("perm", {1, 0})}, "second"}},
                       {"y"}};
  ExpectAsRanked(graph, EachRank(2, 2));
  auto vm = Compiled(graph, 1, nullptr);
  ASSERT_NE(vm, nullptr);
  std::vector<Tensor> inputs{*Tensor::Allocate(DType::kF32, Shape({2, 2, 2}))}, outputs(1);
  const Status status = vm->NewInvocation().Run(inputs, outputs);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("rank"), std::string::npos) << status.error().message;
  ir::GraphText never;
  never.nodes = {{"Transpose", {"x"}, {"y"}, {ir::IntsAttribute("perm", {0, 0})}, "never"}};
  never.inputs = {ir::ValueOfType("x", UnrankedType(DType::kF32))};
  never.outputs = {ir::ValueOfType("y", UnrankedType(DType::kF32))};
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(ir::ModelMessage(never, 20)), {});
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.error().message.find("never"), std::string::npos) << compiled.error().message;
}

}  // namespace
}  // namespace tvmvm
