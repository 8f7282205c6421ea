// Programs as text that the tests of several folders run. They need no compiler.
#pragma once

#include <string_view>

namespace tvmvm::testing {

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
