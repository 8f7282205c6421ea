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
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(ir::ModelMessage(graph, 20)), {});
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

}  // namespace
}  // namespace tvmvm
