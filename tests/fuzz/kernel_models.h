// Small models with symbols, all of whose CPU kernels have contracts: one of each kind of kernel.
#pragma once

#include <string_view>

namespace tvmvm::fuzz {

inline constexpr std::string_view kKernelModels[] = {
    // Elementwise with broadcasts, rows, a transpose.
    R"(symbol n: [0, inf] input
symbol m: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,m]>
  input "y" = %1: tensor<f32,[m]>
  %2: tensor<f32,[n,m]> = mul(%0, %1)
  %3: tensor<f32,[n,1]> = reduce(%2) {flags = dims[0, 1], kind = "sum"}
  %4: tensor<f32,[n,m]> = sub(%2, %3)
  %5: tensor<f32,[m,n]> = transpose(%4) {perm = [1, 0]}
  %6: tensor<f32,[m*2,n]> = concat(%5, %5) {axis = 0}
  output "z" = %6
}
)",
    // A product, packed when it runs.
    R"(symbol n: [0, inf] input
symbol k: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,k]>
  input "y" = %1: tensor<f32,[k,24]>
  %2: tensor<f32,[n,24]> = contract(%0, %1) {dtype = f32, lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}
  output "z" = %2
}
)",
    // A gather.
    R"(symbol n: [0, inf] input
symbol k: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,4]>
  input "i" = %1: tensor<i64,[k]>
  %2: tensor<f32,[k,4]> = gather(%0, %1) {axis = 0}
  output "z" = %2
}
)",
    // A convolution and a window.
    R"(symbol n: [0, inf] input
symbol k: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[1,3,n,k]>
  input "w" = %1: tensor<f32,[4,3,3,3]>
  %2: tensor<f32,[1,4,n,k]> = conv(%0, %1) {dilations = [1, 1], dtype = f32, groups = 1, high = dims[1, 1], low = dims[1, 1], strides = [1, 1]}
  %3: tensor<f32,[1,4,floordiv(n, 2),floordiv(k, 2)]> = window(%2) {dilations = [1, 1, 1, 1], dims = dims[1, 4, floordiv(n, 2), floordiv(k, 2)], high = dims[0, 0, 0, 0], include_padding = 0, kernel = [1, 1, 2, 2], kind = "max", low = dims[0, 0, 0, 0], strides = [1, 1, 2, 2]}
  output "z" = %3
}
)",
    // Attention.
    R"(symbol n: [0, inf] input
symbol k: [0, inf] input
func @main {
  input "q" = %0: tensor<f32,[2,n,8]>
  input "k" = %1: tensor<f32,[2,8,k]>
  input "v" = %2: tensor<f32,[2,k,8]>
  %3: tensor<f32,[2,n,k]> = contract(%0, %1) {dtype = f32, lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]}
  %4: tensor<f32,[2,n,1]> = reduce(%3) {flags = dims[0, 0, 1], kind = "max"}
  %5: tensor<f32,[2,n,k]> = sub(%3, %4)
  %6: tensor<f32,[2,n,k]> = exp(%5)
  %7: tensor<f32,[2,n,1]> = reduce(%6) {flags = dims[0, 0, 1], kind = "sum"}
  %8: tensor<f32,[2,n,k]> = div(%6, %7)
  %9: tensor<f32,[2,n,8]> = contract(%8, %2) {dtype = f32, lhs_batch = [0], lhs_contract = [2], rhs_batch = [0], rhs_contract = [1]}
  output "z" = %9
}
)",
    // Places that memory tells, which one kernel checks and another one goes by.
    R"(symbol n: [0, inf] input
symbol k: [0, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,4]>
  input "i" = %1: tensor<i64,[k,4]>
  input "u" = %2: tensor<f32,[k,4]>
  check_indices(%1) {sizes = dims[n]}
  %3: tensor<f32,[n,4]> = scatter_elements(%0, %1, %2) {axis = 0, reduction = "none"}
  output "z" = %3
}
)",
    // Running sums, of pads that reflect.
    R"(symbol n: [0, inf] input
symbol k: [2, inf] input
func @main {
  input "x" = %0: tensor<f32,[n,k]>
  %1: tensor<f32,[]> = constant() {data = dense<f32,[]>[0]}
  %2: tensor<f32,[n,k+2]> = pad(%0, %1) {high = dims[0, 1], low = dims[0, 1], mode = "reflect"}
  %3: tensor<f32,[n,k+2]> = scan(%2) {axis = dim(1), exclusive = 0, kind = "sum", reverse = 0}
  output "z" = %3
}
)",
    // A loop that becomes one kernel.
    R"(symbol n: [0, inf] input
symbol i: [0, 9223372036854775806]
func @main {
  input "x" = %0: tensor<f32,[n,4]>
  input "s" = %1: tensor<f32,[4]>
  %2: tensor<f32,[4]>, %3: tensor<f32,[n,4]> = loop(%1) {continue = dim(1), count = "", finals = strings[], index = "i", initial = dims[], next = dims[], start = dim(1), symbols = strings[], trip = dim(n)} (%4: tensor<f32,[4]>) {
    %5: tensor<f32,[1,4]> = slice(%0) {dims = dims[1, 4], starts = dims[i, 0], steps = dims[1, 1]}
    %6: tensor<f32,[4]> = reshape(%5) {dims = dims[4]}
    %7: tensor<f32,[4]> = add(%4, %6)
    %8: tensor<f32,[4]> = tanh(%7)
    yield %8, %8
  }
  output "f" = %2
  output "z" = %3
}
)"};

}  // namespace tvmvm::fuzz
