// What the machine itself costs in time: one scalar instruction, one call, one launch, one empty invocation.
#include <benchmark/benchmark.h>

#include "bench/vm_programs.h"
#include "bytecode/kernel_abi.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

int32_t Nothing(const KernelArgs*, int64_t, int64_t) { return 0; }

void Run(benchmark::State& state, const bench::VmProgram& program) {
  VmOptions options;
  options.threads = 1;
  options.jit =
      std::make_shared<testing::TestJit>(std::map<std::string, KernelFunction>{{"nothing", &Nothing}});
  auto vm = testing::VmFromText(program.text, options);
  if (!vm) return state.SkipWithError("the program is wrong");
  Invocation invocation = vm->NewInvocation();
  int64_t x = program.turns, y = 0;
  const std::array inputs{Tensor::Borrow(DType::kI64, Shape{1}, &x)};
  std::array outputs{Tensor::Borrow(DType::kI64, Shape{1}, &y)};
  for (auto _ : state)
    if (!invocation.Run(inputs, outputs)) return state.SkipWithError("the run failed");
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(program.turns * program.per_turn),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

const bool kRegistered = [] {
  for (const bench::VmProgram& program : bench::kVmPrograms)
    benchmark::RegisterBenchmark(std::string(program.name).c_str(),
                                 [&](benchmark::State& state) { Run(state, program); });
  return true;
}();

}  // namespace
}  // namespace tvmvm
