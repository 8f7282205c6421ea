// Values whose rank only running tells: a branch for each rank, and constants that only some of them read.
#include <gtest/gtest.h>

#include "compiler/compiler.h"
#include "tests/compiler/importers/onnx_writer.h"
#include "vm/vm.h"

namespace tvmvm {
namespace {

TEST(UnknownRank, BranchesGiveConstants) {
  ir::GraphText graph;
  graph.nodes = {{"ConstantOfShape", {"shape"}, {"filled"}}, {"Flatten", {"filled"}, {"flat"}}};
  graph.inputs = {ir::ValueMessage("shape", ir::kOnnxInt64, {"n"})};
  graph.outputs = {ir::ValueMessage("flat", ir::kOnnxFloat, {"rows", "columns"})};
  CompileOptions options;
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(ir::ModelMessage(graph, 20)), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  auto vm = Vm::Create(compiled->program, VmOptions{.threads = 1});
  ASSERT_TRUE(vm) << vm.error().message;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{3}, {2, 3}, {2, 3, 4}}) {
    auto rank = static_cast<int64_t>(shape.size());
    std::vector<Tensor> inputs{Tensor::Borrow(DType::kI64, {rank}, shape.data())}, outputs(1);
    Status status = (*vm)->NewInvocation().Run(inputs, outputs);
    ASSERT_TRUE(status) << status.error().message;
    int64_t columns = rank == 1 ? 1 : rank == 2 ? 3 : 12;
    EXPECT_EQ(outputs[0].shape(), Shape({shape[0], columns}));
  }
}

// The axis is read in the branches of some ranks only, and there it may not matter.
TEST(UnknownRank, BranchesReadAnAxis) {
  ir::GraphText graph;
  graph.nodes = {{"DFT", {"x", "", "axis"}, {"y"}}};
  // A tensor type that has an element type alone.
  std::string unranked = ir::Message([](auto& type) {
    type.add_message(1, ir::Message([](auto& tensor) { tensor.add_int32(1, DTypeToOnnx(DType::kF64)); }));
  });
  graph.inputs = {ir::ValueOfType("x", unranked), ir::ValueMessage("axis", ir::kOnnxInt64, {})};
  graph.outputs = {ir::ValueOfType("y", unranked)};
  CompileOptions options;
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(ir::ModelMessage(graph, 20)), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  auto vm = Vm::Create(compiled->program, VmOptions{.threads = 1});
  ASSERT_TRUE(vm) << vm.error().message;
  double x[] = {1, 2, 3, 5};
  int64_t axis = 1;
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kF64, {2, 2, 1}, x),
                             Tensor::Borrow(DType::kI64, {}, &axis)};
  std::vector<Tensor> outputs(1);
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(outputs[0].shape(), Shape({2, 2, 2}));
  const auto* y = static_cast<const double*>(outputs[0].data());
  constexpr double kWanted[] = {3, 0, -1, 0, 8, 0, -2, 0};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(y[i], kWanted[i], 1e-12) << i;
}

// Ranks that the operator does not take are no branches; in those that it takes the sizes agree.
TEST(UnknownRank, OperatorsTakeSomeRanksOnly) {
  ir::GraphText graph;
  graph.nodes = {
      {"RotaryEmbedding", {"x", "cosines", "sines", "positions"}, {"y"}, {ir::IntAttribute("num_heads", 2)}}};
  std::string unranked = ir::Message([](auto& type) {
    type.add_message(1, ir::Message([](auto& tensor) { tensor.add_int32(1, DTypeToOnnx(DType::kF32)); }));
  });
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {int64_t{1}, int64_t{2}, int64_t{4}}),
                  ir::ValueMessage("cosines", ir::kOnnxFloat, {int64_t{8}, int64_t{1}}),
                  ir::ValueOfType("sines", unranked),
                  ir::ValueMessage("positions", ir::kOnnxInt64, {"n", int64_t{2}})};
  graph.outputs = {ir::ValueOfType("y", unranked)};
  CompileOptions options;
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(ir::ModelMessage(graph, 24)), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  auto vm = Vm::Create(compiled->program, VmOptions{.threads = 1});
  ASSERT_TRUE(vm) << vm.error().message;
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, cosines[8] = {0, 1, 1, 1, 1, 1, 1, 1},
        sines[8] = {1, 0, 0, 0, 0, 0, 0, 0};
  int64_t positions[2] = {0, 3};  // a quarter turn, none
  std::vector<Tensor> inputs{
      Tensor::Borrow(DType::kF32, {1, 2, 4}, x), Tensor::Borrow(DType::kF32, {8, 1}, cosines),
      Tensor::Borrow(DType::kF32, {8, 1}, sines), Tensor::Borrow(DType::kI64, {1, 2}, positions)};
  std::vector<Tensor> outputs(1);
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  const auto* y = static_cast<const float*>(outputs[0].data());
  constexpr float kWanted[] = {-2, 1, -4, 3, 5, 6, 7, 8};
  for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(y[i], kWanted[i]) << i;
}

}  // namespace
}  // namespace tvmvm
