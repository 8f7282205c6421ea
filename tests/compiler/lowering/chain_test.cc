// Short chains of ONNX nodes, compiled and run: where a node's result matters only to the next one.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "tests/compiler/lowering/compiled_graph.h"

namespace tvmvm {
namespace {

Tensor OutputOf(const ir::GraphText& graph, std::vector<Tensor> inputs) {
  auto vm = CompiledGraph(graph, 17);
  return vm ? FirstOutput(*vm, std::move(inputs)) : Tensor();
}

TEST(Chain, TheSignOfNegativeZeroIsZero) {
  ir::GraphText graph;
  graph.nodes = {{"Sign", {"x"}, {"sign"}}, {"Reciprocal", {"sign"}, {"y"}}};
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"n"})};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxFloat, {"n"})};
  float x[] = {-0.0f, 0.0f, -3, NAN};
  Tensor y = OutputOf(graph, {Tensor::Borrow(DType::kF32, {4}, x)});
  ASSERT_EQ(y.element_count(), 4);
  const auto* values = static_cast<const float*>(y.data());
  EXPECT_EQ(values[0], INFINITY);
  EXPECT_EQ(values[1], INFINITY);
  EXPECT_EQ(values[2], -1);
  EXPECT_TRUE(std::isnan(values[3]));
}

// alpha * elu(x / alpha) is no number where alpha is 0, but for negative x.
TEST(Chain, CeluOfAlphaZeroIsItsFormula) {
  ir::GraphText graph;
  graph.nodes = {{"Celu", {"x"}, {"y"}, {ir::FloatAttribute("alpha", 0)}}};
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"n"})};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxFloat, {"n"})};
  float x[] = {16.5f, 0, -3};
  Tensor y = OutputOf(graph, {Tensor::Borrow(DType::kF32, {3}, x)});
  ASSERT_EQ(y.element_count(), 3);
  const auto* values = static_cast<const float*>(y.data());
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], 0);
}

// ONNX Runtime's numbers: the quotients have the other sign.
TEST(Chain, CeluOfAlphaMinusZeroKeepsWhatIsPositive) {
  ir::GraphText graph;
  graph.nodes = {{"Celu", {"x"}, {"y"}, {ir::FloatAttribute("alpha", -0.0)}}};
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"n"})};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxFloat, {"n"})};
  float x[] = {16.5f, INFINITY, 0, -3};
  Tensor y = OutputOf(graph, {Tensor::Borrow(DType::kF32, {4}, x)});
  ASSERT_EQ(y.element_count(), 4);
  const auto* values = static_cast<const float*>(y.data());
  EXPECT_EQ(values[0], 16.5f);
  EXPECT_EQ(values[1], INFINITY);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_TRUE(std::isnan(values[3]));
}

// A tensor's arithmetic wraps around, though the numbers come from a shape.
TEST(Chain, ProductsOfSizesWrapAround) {
  ir::GraphText graph;
  graph.nodes = {{"Shape", {"x"}, {"shape"}}, {"Mul", {"shape", "factors"}, {"y"}}};
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"a", "b", "c"})};
  graph.initializers = {
      ir::Int64Tensor("factors", {-3664522438637537223, 5878996382803049663, -437593638675567883})};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxInt64, {int64_t{3}})};
  float x[8] = {};
  Tensor y = OutputOf(graph, {Tensor::Borrow(DType::kF32, {4, 2, 1}, x)});
  ASSERT_EQ(y.element_count(), 3);
  const auto* values = static_cast<const int64_t*>(y.data());
  EXPECT_EQ(values[0], 3788654319159402724);
  EXPECT_EQ(values[1], -6688751308103452290);
  EXPECT_EQ(values[2], -437593638675567883);
}

// Of a size that is known as a product of dims, too.
TEST(Chain, ASizeTimesANumberWrapsAround) {
  ir::GraphText graph;
  graph.nodes = {{"Size", {"x"}, {"size"}}, {"Mul", {"size", "factor"}, {"y"}}};
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"a", "b"})};
  graph.initializers = {ir::TensorMessage("factor", ir::kOnnxInt64, {},
                                          ir::RawBytes(std::vector<int64_t>{-538293324303369963}))};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxInt64, {})};
  std::vector<float> x(32 * 33);
  Tensor y = OutputOf(graph, {Tensor::Borrow(DType::kF32, {32, 33}, x.data())});
  ASSERT_EQ(y.element_count(), 1);
  EXPECT_EQ(*static_cast<const int64_t*>(y.data()), 3411315820637419168);
}

// The size of what is gathered from follows from a number that is less than 0.
TEST(Chain, ARangeDownToANegativeNumberHasItsElements) {
  ir::GraphText graph;
  graph.nodes = {{"Range", {"start", "limit", "start"}, {"range"}},
                 {"Neg", {"range"}, {"numbers"}},
                 {"Gather", {"numbers", "indices"}, {"y"}}};
  graph.inputs = {ir::ValueMessage("limit", ir::kOnnxInt64, {})};
  graph.initializers = {
      ir::TensorMessage("start", ir::kOnnxInt64, {}, ir::RawBytes(std::vector<int64_t>{-1})),
      ir::Int64Tensor("indices", {0, 2, 4, 5, 6})};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxInt64, {int64_t{5}})};
  int64_t limit = -9;
  Tensor y = OutputOf(graph, {Tensor::Borrow(DType::kI64, {}, &limit)});
  ASSERT_EQ(y.element_count(), 5);
  const auto* values = static_cast<const int64_t*>(y.data());
  EXPECT_EQ(std::vector<int64_t>(values, values + 5), (std::vector<int64_t>{1, 3, 5, 6, 7}));
}

// Sizes are integers of 64 bits; what is cast to fewer is what these hold.
// The number of elements turns out to be 3, so that of the branches for shapes of each length some cannot be.
TEST(Chain, ReshapeByAShapeOfAnyLengthOfWhatConstantsTell) {
  ir::GraphText graph;
  graph.nodes = {{"NonZero", {"data"}, {"places"}}, {"Reshape", {"places", "shape"}, {"y"}}};
  graph.inputs = {ir::ValueMessage("shape", ir::kOnnxInt64, {"k"})};
  graph.initializers = {ir::Int64Tensor("data", {5, 0, 7, 9})};
  graph.outputs = {ir::UntypedValue("y")};
  for (std::vector<int64_t> shape : {std::vector<int64_t>{3}, {3, 1}, {1, -1, 1}}) {
    const Tensor y =
        OutputOf(graph, {Tensor::Borrow(DType::kI64, {static_cast<int64_t>(shape.size())}, shape.data())});
    ASSERT_EQ(y.element_count(), 3);
    EXPECT_EQ(y.shape().rank(), static_cast<int>(shape.size()));
    const auto* places = static_cast<const int64_t*>(y.data());
    EXPECT_EQ(std::vector<int64_t>(places, places + 3), (std::vector<int64_t>{0, 2, 3}));
  }
}

TEST(Chain, ASizeWrapsInANarrowType) {
  ir::GraphText graph;
  graph.nodes = {{"Size", {"x"}, {"size"}},
                 {"Cast", {"size"}, {"narrow"}, {ir::IntAttribute("to", DTypeToOnnx(DType::kI8))}},
                 {"Cast", {"narrow"}, {"y"}, {ir::IntAttribute("to", ir::kOnnxInt64)}}};
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"n", int64_t{8}})};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxInt64, {})};
  std::vector<float> x(306 * 8);
  Tensor y = OutputOf(graph, {Tensor::Borrow(DType::kF32, {306, 8}, x.data())});
  ASSERT_EQ(y.element_count(), 1);
  EXPECT_EQ(*static_cast<const int64_t*>(y.data()), -112);
}

TEST(Chain, AProductOfASizeWrapsIn32Bits) {
  ir::GraphText graph;
  graph.nodes = {{"Size", {"x"}, {"size"}},
                 {"Cast", {"size"}, {"narrow"}, {ir::IntAttribute("to", DTypeToOnnx(DType::kI32))}},
                 {"Mul", {"narrow", "factor"}, {"product"}},
                 {"Cast", {"product"}, {"y"}, {ir::IntAttribute("to", ir::kOnnxInt64)}}};
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"n"})};
  graph.initializers = {ir::TensorMessage("factor", DTypeToOnnx(DType::kI32), {},
                                          ir::RawBytes(std::vector<int32_t>{10'000'000}))};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxInt64, {})};
  std::vector<float> x(2448);
  Tensor y = OutputOf(graph, {Tensor::Borrow(DType::kF32, {2448}, x.data())});
  ASSERT_EQ(y.element_count(), 1);
  EXPECT_EQ(*static_cast<const int64_t*>(y.data()), -1289803776);
}

// A constant of one element is no immediate where kernels have no numbers of its type.
TEST(Chain, ComplexConstantsAreRead) {
  ir::GraphText graph;
  int32_t complex = DTypeToOnnx(DType::kC128);
  std::complex<double> constant(1.5, -2), x[] = {{1, 2}, {3, 4}};
  bool takes_x[] = {true, false};
  graph.nodes = {{"Where", {"condition", "x", "constant"}, {"y"}}};
  graph.inputs = {ir::ValueMessage("condition", DTypeToOnnx(DType::kBool), {"n"}),
                  ir::ValueMessage("x", complex, {"n"})};
  graph.initializers = {ir::TensorMessage("constant", complex, {},
                                          {reinterpret_cast<const char*>(&constant), sizeof constant})};
  graph.outputs = {ir::ValueMessage("y", complex, {"n"})};
  Tensor y =
      OutputOf(graph, {Tensor::Borrow(DType::kBool, {2}, takes_x), Tensor::Borrow(DType::kC128, {2}, x)});
  ASSERT_EQ(y.element_count(), 2);
  const auto* values = static_cast<const std::complex<double>*>(y.data());
  EXPECT_EQ(values[0], x[0]);
  EXPECT_EQ(values[1], constant);
}

}  // namespace
}  // namespace tvmvm
