// Models compiled, code for their kernels that the compiler did not write, and runs of it on inputs of any
// size.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/change_program.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {

inline Limits SmallLimits() {
  Limits limits;
  limits.max_bytes = 64 << 20;
  limits.max_steps = 1'000'000;
  limits.timeout = std::chrono::seconds(2);
  limits.max_call_depth = 1000;
  return limits;
}

// `device`: a GPU to run on, and the CPU; "": the CPU alone.
inline std::shared_ptr<const Program> CompiledFor(std::string_view text, const std::string& device = "") {
  CompileOptions options;
  options.targets = {"host"};
  if (!device.empty()) options.devices = {device, "cpu"};
  options.prefer_gpu = !device.empty();
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? compiled->program : nullptr;
}

// Inputs of any size, as `main` takes them, of bytes that are indices out of every range.
inline Expected<std::vector<Tensor>> AnyInputs(const FunctionSpec& main, fuzz::Choices& choices) {
  std::vector<Tensor> inputs;
  const int64_t sizes[] = {1 + choices.Below(9), 1 + choices.Below(40)};
  for (const ParameterSpec& input : main.inputs) {
    Shape shape;
    for (const DimSpec& dim : input.type.dims)
      shape.push_back(dim.value >= 0 ? dim.value : sizes[dim.symbol == "n" ? 0 : 1]);
    TVMVM_TRY(Tensor tensor, Tensor::Allocate(input.type.dtype, shape));
    auto* bytes = static_cast<uint8_t*>(tensor.data());
    for (int64_t i = 0; i < tensor.byte_count(); ++i) bytes[i] = static_cast<uint8_t>(choices.Below(256));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Twice where the first run ends with an error: the Invocation lives on, and what comes is the same.
inline Status RunAny(std::shared_ptr<const Program> program, const FunctionSpec& main, VmOptions options,
                     fuzz::Choices& choices) {
  options.threads = 1;
  TVMVM_TRY(std::shared_ptr<Vm> vm, Vm::Create(program, options));
  Invocation invocation = vm->NewInvocation();
  invocation.SetLimits(SmallLimits());
  TVMVM_TRY(const std::vector<Tensor> inputs, AnyInputs(main, choices));
  std::vector<Tensor> outputs(main.outputs.size());
  Status status = invocation.Run(inputs, outputs);
  if (status) return status;
  const Status again = invocation.Run(inputs, outputs);
  EXPECT_FALSE(again) << status.error().message;
  return status;
}

inline void ChangeWords(Program* program, fuzz::Choices& choices) {
  for (uint32_t changes = 1 + choices.Below(3); changes > 0; --changes) fuzz::ChangeWord(program, choices);
}

// The code's words of a program, changed in a few places.
inline std::vector<std::byte> OtherCode(const Program& original, fuzz::Choices& choices) {
  Program program = original;
  ChangeWords(&program, choices);
  std::vector<std::byte> code;
  for (const FunctionSpec& function : program.functions) {
    const auto words = std::as_bytes(std::span(function.code));
    code.insert(code.end(), words.begin(), words.end());
  }
  return code;
}

}  // namespace tvmvm
