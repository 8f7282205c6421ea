// Compiles a model as a service does, in a process of its own: compile_in_service model.onnx
#include <tvm-vm/isolated_compiler.h>
#include <tvm-vm/vm.h>

#include <chrono>
#include <cstdio>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  tvmvm::IsolationOptions isolation;
  isolation.timeout = std::chrono::minutes(5);
  const auto result = tvmvm::CompileFileIsolated(arguments[1], {}, isolation);
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    return 1;
  }
  const auto vm = tvmvm::Vm::Create(result->program);
  std::printf("%zu kernels\n", result->program->kernels.size());
  return vm ? 0 : 1;
}
