// What the machine itself costs: one scalar instruction, one call, one launch, one empty invocation.
#include <benchmark/benchmark.h>

#include "bytecode/kernel_abi.h"
#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

int32_t Nothing(const KernelArgs*, int64_t, int64_t) { return 0; }

// Runs a program over x: i64[1], which holds the number of turns; `per_turn` things happen in each.
void RunTurns(benchmark::State& state, std::string_view text, int64_t turns, int64_t per_turn) {
  VmOptions options;
  options.threads = 1;
  options.jit =
      std::make_shared<testing::TestJit>(std::map<std::string, KernelFunction>{{"nothing", &Nothing}});
  auto vm = testing::VmFromText(text, options);
  if (!vm) return state.SkipWithError("the program is wrong");
  Invocation invocation = vm->NewInvocation();
  int64_t x = turns, y = 0;
  const std::array inputs{Tensor::Borrow(DType::kI64, Shape{1}, &x)};
  std::array outputs{Tensor::Borrow(DType::kI64, Shape{1}, &y)};
  for (auto _ : state)
    if (!invocation.Run(inputs, outputs)) return state.SkipWithError("the run failed");
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(turns * per_turn),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void EmptyInvocation(benchmark::State& state) {
  RunTurns(state, R"---(
entry @main
func @main("x": i64[1]) -> ("y": i64[1]) frame 1, 2 {
  i0 = const 1
  r1 = output 0, [i0]
  return [], [r1]
}
)---",
           1, 1);
}
BENCHMARK(EmptyInvocation);

void ScalarInstruction(benchmark::State& state) {
  RunTurns(state, R"---(
entry @main
func @main("x": i64[1]) -> ("y": i64[1]) frame 12, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
again:
  i3 = mul i2, i1
  i4 = max i3, i2
  i5 = min i4, i3
  i6 = add i5, i1
  i7 = select i6, i4, i3
  i8 = lt i7, i0
  i2 = sub i2, i1
  branch.if i2, again
  return [], [r1]
}
)---",
           100'000, 8);
}
BENCHMARK(ScalarInstruction);

void Call(benchmark::State& state) {
  RunTurns(state, R"---(
entry @main
func @one() -> () scalars 1 -> 1 frame 1, 0 {
  return [i0], []
}
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
again:
  [i2], [] = call @one, [i2], []
  i2 = sub i2, i1
  branch.if i2, again
  return [], [r1]
}
)---",
           10'000, 1);
}
BENCHMARK(Call);

void Launch(benchmark::State& state) {
  RunTurns(state, R"---(
entry @main
kernel @nothing cpu symbol "nothing" scalars 2 buffers [read, write]
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
again:
  launch @nothing, 0, [i1, i1, i1, i0, i0, i0], [i0, i1], [r0, r1]
  i2 = sub i2, i1
  branch.if i2, again
  return [], [r1]
}
)---",
           10'000, 1);
}
BENCHMARK(Launch);

}  // namespace
}  // namespace tvmvm
