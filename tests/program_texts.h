// Programs as text that the tests of several folders run. They need no compiler.
#pragma once

#include <string_view>

namespace tvmvm::testing {

// x -> y on a device where kernels are launched; on the CPU alone without any.
inline constexpr std::string_view kTwoEntries = R"---(
entry @main
entry [1, 0] @gpu
kernel @k gpu symbol "k" scalars 0 buffers [read, write]
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = const 10
  r1 = output 0, [i1]
  store r1, i0, i64, i2
  return [], [r1]
}
func @gpu("x": i64[1]) -> ("y": i64[1]) frame 4, 3 {
  i0 = const 0
  i1 = const 1
  i2 = const 8
  r1 = output 0, [i1]
  r2 = arena.on 1, i2
  launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2, r2]
  copy [r1, r2], i2
  return [], [r1]
}
)---";

// y = x + 1
inline constexpr std::string_view kAddOne = R"---(
entry @main
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  r1 = output 0, [i1]
  i2 = load r0, i0, i64
  i2 = add i2, i1
  store r1, i0, i64, i2
  return [], [r1]
}
)---";

// y = x, through values of a plan, an arena of its own and a call.
inline constexpr std::string_view kCopyInSteps = R"---(
entry @main
plan p0 [0..1 align 64, 0..1 align 64]
func @helper("a": i64[n]) -> ("b": i64[n]) frame 8, 6 {
  i0 = const 0
  i1 = dim r0, 0
  i2 = const 8
  i3 = mul i1, i2
  r1 = arena i3
  copy [r1, r0], i3
  r2 = alloc i64, [i1]
  r3 = view r1, i0, i64, [i1]
  copy [r2, r3], i3
  return [], [r2]
}
func @main("x": i64[n]) -> ("y": i64[n]) frame 12, 8 {
  i0 = const 0
  i1 = dim r0, 0
  i2 = const 8
  i3 = mul i1, i2
  i4, [i5, i6] = plan p0, [i3, i3]
  r1 = arena i4
  r2 = view r1, i5, i64, [i1]
  r3 = view r1, i6, i64, [i1]
  copy [r2, r0], i3
  [], [r4] = call @helper, [], [r2]
  copy [r3, r4], i3
  r5 = output 0, [i1]
  copy [r5, r3], i3
  return [], [r5]
}
)---";

// y = x!
inline constexpr std::string_view kFactorial = R"---(
entry @main
func @factorial() -> () scalars 1 -> 1 frame 4, 0 {
  i1 = const 1
  i2 = le i0, i1
  branch.if i2, base
  i3 = sub i0, i1
  [i3], [] = call @factorial, [i3], []
  node "/factorial (Mul)"
  i0 = mul i0, i3
  return [i0], []
base:
  return [i1], []
}
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = output 0, [i1]
  [i2], [] = call @factorial, [i2], []
  store r1, i0, i64, i2
  return [], [r1]
}
)---";

}  // namespace tvmvm::testing
