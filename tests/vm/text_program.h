// Programs given as text, with the tests' kernels.
#pragma once

#include <gtest/gtest.h>

#include "tests/vm/test_kernels.h"
#include "tvm-vm/assembler.h"

namespace tvmvm::testing {

// Null after a test failure.
inline std::shared_ptr<Vm> VmFromText(std::string_view text, VmOptions options = TestOptions()) {
  auto program = Assemble(text);
  EXPECT_TRUE(program) << program.error().message;
  if (!program) return nullptr;
  static const std::byte kBitcode[64] = {};
  auto with_library = std::make_shared<Program>(**program);
  KernelLibrarySpec library;
  library.form = KernelForm::kBitcode;
  library.target = "host";
  library.bytes = kBitcode;
  with_library->libraries.push_back(library);
  auto vm = Vm::Create(with_library, options);
  EXPECT_TRUE(vm) << vm.error().message;
  return vm ? *vm : nullptr;
}

// "code: message" of an error, or "" when all is well.
inline std::string TextOf(const Status& status) {
  return status ? "" : std::string(CodeName(status.error().code)) + ": " + status.error().message;
}

// Runs a program with one output; the output's numbers, or an empty list after a test failure.
inline std::vector<int64_t> RunInts(std::string_view text, std::vector<Tensor> inputs) {
  auto vm = VmFromText(text);
  if (!vm) return {};
  std::array outputs{Tensor()};
  Status status = vm->NewInvocation().Run(inputs, outputs);
  EXPECT_EQ(TextOf(status), "");
  return status ? ToInts(outputs[0]) : std::vector<int64_t>();
}

// The error of running a program with one output.
inline std::string RunError(std::string_view text, std::vector<Tensor> inputs, const Limits& limits = {}) {
  auto vm = VmFromText(text);
  if (!vm) return "no vm";
  std::array outputs{Tensor()};
  Invocation invocation = vm->NewInvocation();
  invocation.SetLimits(limits);
  return TextOf(invocation.Run(inputs, outputs));
}

}  // namespace tvmvm::testing
