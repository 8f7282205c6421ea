// vm_costs PROGRAM TURNS: runs one of bench/vm_programs.h, to be looked at by a tool that counts
// instructions.
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "bench/vm_programs.h"
#include "bytecode/kernel_abi.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

int32_t Nothing(const KernelArgs*, int64_t, int64_t) { return 0; }

int Run(const bench::VmProgram& program, int64_t turns) {
  VmOptions options;
  options.threads = 1;
  options.jit =
      std::make_shared<testing::TestJit>(std::map<std::string, KernelFunction>{{"nothing", &Nothing}});
  auto vm = testing::VmFromText(program.text, options);
  if (!vm) return 1;
  Invocation invocation = vm->NewInvocation();
  int64_t x = turns, y = 0;
  const std::array inputs{Tensor::Borrow(DType::kI64, Shape{1}, &x)};
  std::array outputs{Tensor::Borrow(DType::kI64, Shape{1}, &y)};
  const int64_t runs = program.has_loop ? 1 : turns;
  for (int64_t i = 0; i < runs; ++i)
    if (!invocation.Run(inputs, outputs)) return 1;
  return 0;
}

}  // namespace
}  // namespace tvmvm

int main(int count, char** arguments) {
  if (count != 3) return 2;
  for (const tvmvm::bench::VmProgram& program : tvmvm::bench::kVmPrograms)
    if (program.name == arguments[1]) return tvmvm::Run(program, std::atoll(arguments[2]));
  return 2;
}
