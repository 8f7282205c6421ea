// Programs of host calls as text: the functions are called by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bytecode/host_functions.h"
#include "tests/vm/text_program.h"

namespace tvmvm::testing {

// "host sequence.at, ..." becomes "host 4, ...".
inline std::string WithNumbers(std::string_view text) {
  std::string result(text);
  for (size_t at = 0; (at = result.find("host ", at)) != std::string::npos; at += 5) {
    const size_t end = result.find(',', at);
    const std::string name = result.substr(at + 5, end - at - 5);
    if (auto function = FindHostFunction(name))
      result.replace(at + 5, name.size(), std::to_string(static_cast<uint32_t>(*function)));
  }
  return result;
}

// "entry @main func @main(`signature`) frame 16, 16 { `body` }", with a source node for messages.
inline std::string HostProgram(std::string_view signature, std::string_view body) {
  return WithNumbers("entry @main\nfunc @main" + std::string(signature) +
                     " frame 16, 16 {\n  node \"/node\"\n" + std::string(body) + "\n}\n");
}

// Runs a program; its outputs, or an empty list after a test failure.
inline std::vector<Tensor> RunHost(std::string_view signature, std::string_view body,
                                   std::vector<Tensor> inputs) {
  auto vm = VmFromText(HostProgram(signature, body));
  if (!vm) return {};
  std::vector<Tensor> outputs(vm->program().main().outputs.size());
  const Status status = vm->NewInvocation().Run(inputs, outputs);
  EXPECT_EQ(TextOf(status), "");
  return status ? outputs : std::vector<Tensor>();
}

inline std::string RunHostError(std::string_view signature, std::string_view body, std::vector<Tensor> inputs,
                                const Limits& limits = {}) {
  auto vm = VmFromText(HostProgram(signature, body));
  if (!vm) return "no vm";
  std::vector<Tensor> outputs(vm->program().main().outputs.size());
  Invocation invocation = vm->NewInvocation();
  invocation.SetLimits(limits);
  return TextOf(invocation.Run(inputs, outputs));
}

inline Tensor Shaped(Tensor tensor, const Shape& shape) {
  return tensor.dtype() == DType::kString
             ? Tensor::FromStrings(shape, tensor.strings())
             : Tensor::Share(tensor.dtype(), shape, tensor.data(), tensor.owner());
}
inline Tensor Texts(std::vector<std::string> texts) {
  const auto count = static_cast<int64_t>(texts.size());
  return Tensor::FromStrings(Shape{count}, std::move(texts));
}

}  // namespace tvmvm::testing
