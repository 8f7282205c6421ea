// What the machine itself costs in time: one scalar instruction, one call, one launch, one empty invocation.
#include <benchmark/benchmark.h>

#include "bench/vm_programs.h"

namespace tvmvm::bench {
namespace {

void Measure(benchmark::State& state, const VmProgram& program) {
  VmRun run(program, program.turns);
  for (auto _ : state)
    if (!run.Run()) return state.SkipWithError("the run failed");
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(program.turns * program.per_turn),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

const bool kRegistered = [] {
  for (const VmProgram& program : VmPrograms())
    benchmark::RegisterBenchmark(program.name.c_str(),
                                 [program](benchmark::State& state) { Measure(state, program); });
  return true;
}();

}  // namespace
}  // namespace tvmvm::bench
