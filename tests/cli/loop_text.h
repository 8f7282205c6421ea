// A graph in text form that compiles fast, and loops.
#pragma once

namespace tvmvm::cli {

// A loop of n steps over the rows of x.
inline constexpr const char* kLoopText = R"(symbol i: [0, inf]
symbol n: [0, inf]
func @main {
  input "x" = %0: tensor<f32,[n,4]>
  input "h" = %1: tensor<f32,[4]>
  %2 "last": tensor<f32,[4]> = loop(%1) {trip = dim(n), index = "i", start = dim(1), continue = dim(1), symbols = strings[], initial = dims[], next = dims[], finals = strings[], count = ""} (%4: tensor<f32,[4]>) {
    %5: tensor<f32,[1,4]> = slice(%0) {dims = dims[1, 4], starts = dims[i, 0], steps = dims[1, 1]}
    %6: tensor<f32,[4]> = reshape(%5) {dims = dims[4]}
    %7 "sum": tensor<f32,[4]> = add(%4, %6)
    yield %7
  }
  output "last" = %2
}
)";

}  // namespace tvmvm::cli
