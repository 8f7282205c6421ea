// ONNX graphs compiled for this machine, and run.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {

// Null after a failure.
inline std::shared_ptr<Vm> CompiledGraph(const ir::GraphText& graph, int64_t opset) {
  CompileOptions options;
  options.verify_passes = true;
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(ir::ModelMessage(graph, opset)), options);
  if (!compiled) {
    ADD_FAILURE() << compiled.error().message;
    return nullptr;
  }
  auto vm = Vm::Create(compiled->program, VmOptions{.threads = 1});
  EXPECT_TRUE(vm) << vm.error().message;
  return vm ? *vm : nullptr;
}

inline Tensor FirstOutput(Vm& vm, std::vector<Tensor> inputs) {
  std::vector<Tensor> outputs(1);
  Status status = vm.NewInvocation().Run(inputs, outputs);
  EXPECT_TRUE(status) << status.error().message;
  return std::move(outputs[0]);
}

}  // namespace tvmvm
