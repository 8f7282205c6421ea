// Programs that show what the machine itself costs, for the bench of its times and the test of its
// instructions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tvmvm::bench {

// Over x: i64[1], the number of turns of its loop. In each turn `per_turn` things happen besides the loop's
// own three instructions.
struct VmProgram {
  std::string_view name;
  std::string_view text;
  int64_t turns = 0;  // of the bench
  int64_t per_turn = 1;
  bool has_loop = true;  // false: each run is one thing
};

inline constexpr VmProgram kVmPrograms[] = {
    {"empty_invocation", R"---(
entry @main
func @main("x": i64[1]) -> ("y": i64[1]) frame 1, 2 {
  i0 = const 1
  r1 = output 0, [i0]
  return [], [r1]
}
)---",
     1, 1, false},
    {"loop_turn", R"---(
entry @main
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
again:
  i2 = sub i2, i1
  branch.if i2, again
  return [], [r1]
}
)---",
     100'000, 1},
    {"scalar_instruction", R"---(
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
     100'000, 6},
    {"call", R"---(
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
     10'000, 1},
    {"launch", R"---(
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
     10'000, 1},
    {"launch_on_slots", R"---(
entry @main
kernel @nothing cpu symbol "nothing" scalars 2 buffers [read, write]
plan p0 [0..1 align 64, 0..1 align 64]
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
  r2, s0 = slots p0, 0, [i1, i1]
again:
  launch @nothing, 0, [i1, i1, i1, i0, i0, i0], [i0, i1], [s0, s1]
  slot.swap s0, s1
  i2 = sub i2, i1
  branch.if i2, again
  return [], [r1]
}
)---",
     10'000, 1},
};

}  // namespace tvmvm::bench
