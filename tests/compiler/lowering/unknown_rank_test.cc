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

}  // namespace
}  // namespace tvmvm
