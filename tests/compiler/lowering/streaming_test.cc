// Kernels that write more than caches hold take other loops than those that write little.
#include <gtest/gtest.h>

#include "tests/compiler/lowering/compiled_graph.h"

namespace tvmvm {
namespace {

Tensor Numbers(std::vector<int64_t> dims, int64_t modulus) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, Shape(dims));
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    static_cast<float*>(tensor.data())[i] = static_cast<float>(i % modulus);
  return tensor;
}

// Of results that end within a vector, and begin at any place of a line.
TEST(Streaming, RowsOfAnySize) {
  ir::GraphText graph;
  graph.nodes = {{"Add", {"x", "b"}, {"y"}}};
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"rows", "columns"}),
                  ir::ValueMessage("b", ir::kOnnxFloat, {"columns"})};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxFloat, {"rows", "columns"})};
  auto vm = CompiledGraph(graph, 17);
  ASSERT_NE(vm, nullptr);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>(3, 37), {2500, 1731}, {1, 6'000'001}}) {
    const Tensor y = FirstOutput(*vm, {Numbers({rows, columns}, 1009), Numbers({columns}, 97)});
    ASSERT_EQ(y.element_count(), rows * columns);
    const auto* found = static_cast<const float*>(y.data());
    int64_t wrong = 0;
    for (int64_t i = 0; i < rows * columns; ++i)
      wrong += found[i] != static_cast<float>(i % 1009 + i % columns % 97);
    EXPECT_EQ(wrong, 0) << rows << " x " << columns;
  }
}

}  // namespace
}  // namespace tvmvm
